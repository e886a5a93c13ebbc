/** What keeps another matrix from being put in force: what it opens, and nobody signed off. */
import { bearsOn, isOfCell, type Judged } from '../../../../matrix/index.ts'
import { counted } from '../../terminal/output.ts'

export interface GateOptions {
  /** The file of the flips that somebody signed off. */
  readonly allow?: string
  /** How many others may open something: cells, and facts of kinds. */
  readonly maxOpened: number
  readonly maxLoosened: number
}

/** Empty: nothing does. */
export function refusalsOf({ left }: Judged, { maxOpened, maxLoosened }: GateOptions): string[] {
  const opening = left.filter((flip) => bearsOn(flip, 'opened'))
  const opened = opening.filter(isOfCell).length
  const loosened = opening.length - opened
  return [
    ...(opened > maxOpened
      ? [`${counted(opened, 'cell')} would open that nobody signed off; --max-opened is ${maxOpened}`]
      : []),
    ...(loosened > maxLoosened
      ? [
          `${counted(loosened, 'fact')} of kinds would be loosened or changed that nobody signed off; --max-loosened is ${maxLoosened}`,
        ]
      : []),
  ]
}
