#include "src/record/seal.h"

#include "src/base/mem.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * Checksum: FNV-1a (Fowler, Noll, Vo; IETF draft-eastlake-fnv) over little-endian 64-bit
 * words instead of bytes, in four interleaved lanes for speed. Each step is a bijection of
 * the lane, so a change confined to one word is always found; others escape with 2^-64.
 */

enum {
    SEAL_LANES = 4,
    SEAL_PIECE = 1 << 20
};

static const char seal_name[16] = "seatrial-seal-1"; /* 15 characters and the NUL */
static const uint64_t fnv_prime = 0x100000001B3U;
static const uint64_t fnv_basis = 0xCBF29CE484222325U;

static uint64_t load_u64(const unsigned char *bytes)
{
    uint64_t value = 0;

    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

static void store_u64(unsigned char *bytes, uint64_t value)
{
    const uint64_t stored = htole64(value);

    memcpy(bytes, &stored, sizeof stored);
}

/* n is a multiple of 32 */
static void sum_piece(uint64_t lane[SEAL_LANES], const unsigned char *data, size_t n)
{
    for (size_t i = 0; i < n; i += 8 * SEAL_LANES) {
        for (size_t k = 0; k < SEAL_LANES; k++) {
            lane[k] = (lane[k] ^ load_u64(data + i + 8 * k)) * fnv_prime;
        }
    }
}

/* The last piece is filled up with zeros; the length is part of the seal. */
static bool sum_content(struct st_disk *disk, uint64_t *sum)
{
    uint64_t lane[SEAL_LANES] = {fnv_basis, fnv_basis + 1, fnv_basis + 2, fnv_basis + 3};
    unsigned char *piece = st_calloc(NULL, 1, SEAL_PIECE);
    bool good = piece != NULL;

    for (uint64_t at = 0; good && at < disk->end; at += SEAL_PIECE) {
        const uint64_t left = disk->end - at;
        const size_t n = left < SEAL_PIECE ? (size_t)left : SEAL_PIECE;
        const size_t padded = (n + 31) / 32 * 32;
        good = st_disk_read(disk, at, piece, n);
        memset(piece + n, 0, padded - n);
        sum_piece(lane, piece, padded);
    }
    if (piece == NULL) {
        st_disk_note(disk, ENOMEM, "checksum");
    }
    st_free(piece);
    *sum = fnv_basis;
    for (size_t k = 0; k < SEAL_LANES; k++) {
        *sum = (*sum ^ lane[k]) * fnv_prime;
    }
    return good;
}

bool st_seal_write(struct st_disk *disk)
{
    unsigned char seal[ST_SEAL_BYTES];
    uint64_t sum = 0;

    if (disk->error != 0 || !sum_content(disk, &sum)) {
        return false;
    }
    memcpy(seal, seal_name, sizeof seal_name);
    store_u64(seal + 16, disk->end);
    store_u64(seal + 24, sum);
    return st_disk_write(disk, disk->end, seal, sizeof seal);
}

enum st_seal_state st_seal_check(struct st_disk *disk, uint64_t file_bytes, bool check)
{
    unsigned char seal[ST_SEAL_BYTES];
    uint64_t sum = 0;

    disk->end = file_bytes;
    if (file_bytes < ST_SEAL_BYTES) {
        return ST_SEAL_ABSENT;
    }
    if (!st_disk_read(disk, file_bytes - ST_SEAL_BYTES, seal, sizeof seal)) {
        return ST_SEAL_UNREADABLE;
    }
    if (memcmp(seal, seal_name, sizeof seal_name) != 0) {
        return ST_SEAL_ABSENT;
    }
    disk->end = file_bytes - ST_SEAL_BYTES;
    if (load_u64(seal + 16) != disk->end) {
        return ST_SEAL_BROKEN;
    }
    if (!check) {
        return ST_SEAL_GOOD;
    }
    if (!sum_content(disk, &sum)) {
        return ST_SEAL_UNREADABLE;
    }
    return load_u64(seal + 24) == sum ? ST_SEAL_GOOD : ST_SEAL_BROKEN;
}
