/** The cost to derive the hash of a password: a thief of the directory pays it for each guess. */

/** OWASP's second choice for argon2id: 19 MiB (`memory` is in KiB), 2 passes, 1 lane. */
export const PASSWORD_COST = { memory: 19_456, passes: 2, parallelism: 1 }
