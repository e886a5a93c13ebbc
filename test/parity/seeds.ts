/**
 * How much of a stream of questions a run asks, and of which seeds: a fixed one, and a new one each time. The
 * environment says otherwise: `SEED` asks the same ones again.
 */

/** For each seed and mode. */
export const COUNT = Number(process.env.QUESTIONS ?? 150)

export const SEEDS = process.env.SEED === undefined ? [1, Date.now() % 1_000_000] : [Number(process.env.SEED)]
