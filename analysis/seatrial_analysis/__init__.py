"""Analysis of seatrial's results files: scaling, comparison, fleets, HTML report."""
