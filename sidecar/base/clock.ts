/** The clock of what this process remembers. */
import { Elapsed, JUMP_MS } from '../../engine/elapsed.ts'

const CLOCK = new Elapsed(
  () => performance.now(),
  () => Date.now(),
)

/** Milliseconds that have passed, also while the machine slept. */
export function elapsedMs(): number {
  return CLOCK.now()
}

/** Notes this moment. The function says whether the wall clock has jumped since then. */
export function jumpsFromNow(): () => boolean {
  CLOCK.now()
  const { jumpedMs } = CLOCK
  return () => {
    CLOCK.now()
    return CLOCK.jumpedMs - jumpedMs > JUMP_MS
  }
}
