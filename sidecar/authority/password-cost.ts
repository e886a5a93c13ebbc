/** What it costs to derive the hash of a password, which is what a guess costs a thief of the directory. */

/** OWASP's second choice for argon2id: 19 MiB (`memory` is in KiB), 2 passes, 1 lane. */
export const PASSWORD_COST = { memory: 19_456, passes: 2, parallelism: 1 }
