/**
 * Stands in for `sidecar/authority/password-cost.ts` where passwords are not what is tested (see
 * vitest.config.ts): a fifth of the time that the tests take would go into deriving hashes. The product has
 * no way to ask for less than its own cost.
 */

/** The least that argon2id takes. */
export const PASSWORD_COST = { memory: 8, passes: 1, parallelism: 1 }
