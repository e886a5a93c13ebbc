/** The file of the flips that were signed off: reads it and checks it. */
import { type Problem, problemsBy, problemText } from '../../../../matrix/document/index.ts'
import type { AllowedFlip } from '../../../../matrix/index.ts'
import { isIsoDate } from '../../../base/day.ts'
import { ConfigError } from '../../../config/config.ts'
import { readTextFile } from '../../../config/text-file.ts'
import { validate } from './gen/allowed-flips.ts'

/** @throws ConfigError that names the file and each key */
export function readAllowedFlips(path: string): readonly AllowedFlip[] {
  const reading = readTextFile(path)
  const misfits = reading.ok ? problemsBy(validate, reading.value) : reading.problems
  const flips = reading.ok && misfits.length === 0 ? (reading.value as { flips: AllowedFlip[] }).flips : []
  const problems = [...misfits, ...flips.flatMap(dayProblems)]
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `${path}: ${problemText(problem)}`).join('\n'))
  return flips
}

/** The schema takes the 30th of February, which would be one day later in March. */
function dayProblems({ until }: AllowedFlip, index: number): Problem[] {
  return isIsoDate(until) ? [] : [{ path: `flips[${index}].until`, expected: 'expected a day that there is' }]
}
