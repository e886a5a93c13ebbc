/** A decision of the past beside the rules of now. */
import type { Engine } from '../../../engine/index.ts'
import type { Afterwards } from '../../usecases/decision-search.ts'
import type { Line } from './read-line.ts'
import { answerTo, UNTOLD } from './replay.ts'

/** @param engine of the rules of now */
export function afterwards(engine: Engine, line: Line): Afterwards {
  const digest = line.matrix === engine.digest ? 'same' : 'other'
  let answer: ReturnType<typeof answerTo>
  try {
    answer = answerTo(engine, line)
  } catch {
    // A line of another program need not have what its question needs.
    return { message: undefined, digest, now: { unknown: 'the line does not say what was asked' } }
  }
  if (typeof answer === 'string') return { message: undefined, digest, now: { unknown: UNTOLD[answer] } }
  const { allowed, reason, conflicts, message } = answer
  const ids = conflicts.map(({ id }) => id).toSorted()
  const same =
    line.allowed === allowed &&
    line.reason === reason &&
    [...(line.conflicts ?? [])].sort().join('\n') === ids.join('\n')
  // Rules of another mode may say the same in other words.
  const isThen = digest === 'same' && same
  return { message: isThen ? message : undefined, digest, now: { same, allowed, reason, message } }
}
