/**
 * The summary of the matrix while no cell is open: how much each kind opens, and where the
 * source contradicts itself.
 */
import type { Conflict, Engine } from '../../engine/index.ts'
import type { Table } from '../model/table.ts'
import type { Opened } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon, Mark } from './icons.tsx'
import type { PageProps } from './page.ts'
import { CopyButton, headline, Section } from './parts.tsx'

/** More conflicts than that are read in the table, with its filter. */
const CONFLICTS_SHOWN_MAX = 20

type OverviewProps = Pick<PageProps, 'rules' | 'engine' | 'go'> & { readonly table: Table }

export function Overview({ rules, engine, go, table }: OverviewProps) {
  const { matrix } = rules
  return (
    <aside class="panel overview" aria-label={texts.overview.label}>
      <h2>{matrix.title}</h2>
      <ul class="shares">
        {table.kinds.map((kind, column) => {
          const count = table.openCounts[column] ?? 0
          return (
            <li key={kind.id}>
              <span>{headline(kind.title)}</span>
              <span class="dim">{texts.overview.opens(count, table.rows.length)}</span>
              <meter min={0} max={table.rows.length} value={count} aria-label={kind.title} />
            </li>
          )
        })}
      </ul>
      <Section title={texts.overview.conflicts}>
        {matrix.conflicts.length === 0 && <p class="dim">{texts.overview.noConflicts}</p>}
        <ul class="conflicts">
          {matrix.conflicts.slice(0, CONFLICTS_SHOWN_MAX).map((conflict) => (
            <ConflictRow
              key={conflict.id}
              conflict={conflict}
              open={(opened) => go({ opened })}
              engine={engine}
            />
          ))}
        </ul>
      </Section>
      <Legend strict={engine.strict} isContested={engine.conflicts.some(({ cells }) => cells.length > 0)} />
      <footer>
        <p class="digest">
          <span class="dim" title={texts.footer.digestHint}>
            {texts.footer.digest}
          </span>
          <code title={engine.digest}>{engine.digest.slice(0, 'sha256:'.length + 16)}…</code>
          <CopyButton text={() => engine.digest} />
        </p>
        <p class="dim">{texts.footer.sections}</p>
      </footer>
    </aside>
  )
}

interface ConflictRowProps {
  readonly conflict: Conflict
  readonly open: (opened: Opened) => void
  readonly engine: Engine
}

function ConflictRow({ conflict, open, engine }: ConflictRowProps) {
  const [cell] = conflict.cells
  const titleOf = (api: string) => engine.apis.get(api)?.title ?? api
  const kindOf = (kind: string) => engine.tokenKinds.get(kind)?.title ?? kind
  const about = cell
    ? `${titleOf(cell.api)} × ${kindOf(cell.kind)}`
    : [...conflict.apis.map(titleOf), ...conflict.kinds.map(kindOf)].join(', ')
  const [api] = conflict.apis
  const opened = cell ?? (api === undefined ? undefined : { api, kind: undefined })
  return (
    <li title={conflict.reason}>
      <span class="conflict-type">
        {cell && <Icon name="flag" />}
        {texts.cell.conflict[conflict.type]}
      </span>
      {opened ? (
        <button type="button" class="link" onClick={() => open(opened)}>
          {about}
        </button>
      ) : (
        <span>{about}</span>
      )}
    </li>
  )
}

interface LegendProps {
  readonly strict: boolean
  /** Whether a conflict is about a cell. */
  readonly isContested: boolean
}

function Legend({ strict, isContested }: LegendProps) {
  const contested = strict
    ? (['denied-strict', 'denied-contested'] as const)
    : (['allowed-contested', 'denied-contested'] as const)
  return (
    <Section title={texts.table.legend}>
      <ul class="legend">
        {(['allowed', 'denied', ...(isContested ? contested : [])] as const).map((state) => (
          <li key={state}>
            <Mark state={state} text={texts.states[state]} />
          </li>
        ))}
      </ul>
    </Section>
  )
}
