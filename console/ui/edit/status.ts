/** The effect of edits, in a line. */
import type { Comparison } from '../../../matrix/compare.ts'
import type { State } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'

/** The number of opened and closed cells, and of changed facts of kinds. */
export function countsOf({ flips, kindFlips }: Comparison): string {
  const opened = flips.filter(({ direction }) => direction === 'opened').length
  const { same, counts, facts } = editorTexts.status
  const cells = flips.length === 0 ? same : counts(opened, flips.length - opened)
  return kindFlips.length === 0 ? cells : `${cells} ${facts(kindFlips.length)}`
}

/** The same, with what is left to do. */
export function saidOf(comparison: Comparison, { open }: State): string {
  return [countsOf(comparison), ...(open.length > 0 ? [editorTexts.status.open(open.length)] : [])].join(' ')
}
