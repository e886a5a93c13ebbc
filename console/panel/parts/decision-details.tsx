/** A decision whole: all that its line says, and the way to its cell in the explorer. */
import { texts } from '../../texts/en/operators.ts'
import { CopyButton, Facts } from '../../ui/parts.tsx'
import { cellOf, type Known, membersOf } from '../model/decisions.ts'
import type { Decision } from '../model/tail.ts'
import { Dialog } from './dialog.tsx'

const words = texts.decisions

interface DetailsProps {
  readonly decision: Decision
  /** The facts about it beside its line; `undefined`: it was made just now. */
  readonly past?: Known
  /** Shows only those that are like it. */
  readonly only: (like: { readonly reason?: string; readonly api?: string }) => void
  readonly close: () => void
}

export function DecisionDetails({ decision, past, only, close }: DetailsProps) {
  const { api, kind, reason, allowed } = decision
  const onlyLike = (like: Parameters<typeof only>[0]) => {
    only(like)
    close()
  }
  return (
    <Dialog title={`${allowed ? words.allowed : words.denied}: ${api}`} close={close} wide>
      <Facts
        facts={Object.fromEntries(
          membersOf(decision, past).map(([name, value]) => [name, <code key={name}>{value}</code>]),
        )}
      />
      <div class="actions">
        <CopyButton text={() => JSON.stringify(decision)} label={words.copy} />
        <button type="button" onClick={() => onlyLike({ reason })}>
          {words.onlyReason}
        </button>
        <button type="button" onClick={() => onlyLike({ api })}>
          {words.onlyApi}
        </button>
        {reason !== 'UNKNOWN_API' && (
          <a class="button primary" href={cellOf(decision)}>
            {kind === undefined ? words.row : words.cell}
          </a>
        )}
      </div>
    </Dialog>
  )
}
