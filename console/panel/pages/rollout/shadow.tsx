/** The shadow: decisions that would have been others, for whom, and the cells that it changes. */
import { linkTo } from '../../../model/routes.ts'
import { texts } from '../../../texts/en/operators.ts'
import { Result } from '../../../ui/comparison.tsx'
import { Command, Facts, Message } from '../../../ui/parts.tsx'
import type { Compared } from '../../model/matrices.ts'
import type { Difference, DifferenceGroup, DifferenceRow, Rollout, ShadowView } from '../../model/rollout.ts'
import { NotLoaded } from '../../parts/loaded-view.tsx'
import { Distance, Moment } from '../../parts/time.tsx'
import type { Loaded } from '../../parts/use-loaded.ts'
import { Changes, type Column } from './changes.tsx'
import { Digest } from './digest.tsx'

const words = texts.matrix
const { groups: rowWords } = words

interface ShadowProps {
  readonly rollout: Rollout
  readonly compared: Loaded<Compared | undefined>
}

export function Shadow({ rollout, compared }: ShadowProps) {
  const { shadow } = rollout
  if (shadow === undefined)
    return (
      <section>
        <h2>{words.shadow}</h2>
        <p>{words.none}</p>
        <Command title={words.noneTitle} text={words.noneConfig} />
      </section>
    )
  const { digest, sinceMs, compared: count, differing } = shadow
  const same = digest === rollout.digest
  return (
    <>
      <section>
        <h2>{words.shadow}</h2>
        <p class="dim">{words.shadowAbout}</p>
        <Facts
          facts={{
            [words.digest]: <Digest digest={digest} copy />,
            [words.since]: <Moment ms={sinceMs} />,
            [words.compared]: words.decisions(count),
            [words.differing]: words.decisions(differing),
          }}
        />
        <p class="hint">
          <Message text={words.ofOne} />
        </p>
        {same && <p>{words.same}</p>}
      </section>
      {!same && <Differences shadow={shadow} />}
      {!same && (
        <section>
          <Cells compared={compared} />
        </section>
      )}
    </>
  )
}

function Differences({ shadow: { differing, groups, beyond } }: { readonly shadow: ShadowView }) {
  return (
    <section>
      <h2>{rowWords.title}</h2>
      {differing === 0 && <p>{rowWords.none}</p>}
      {groups.map((group) => (
        <Group key={group.direction} group={group} />
      ))}
      {beyond > 0 && <p class="dim">{rowWords.beyond(beyond)}</p>}
    </section>
  )
}

const COLUMNS: readonly Column[] = [
  [rowWords.api],
  [rowWords.kind, '17em'],
  [rowWords.count, '7em'],
  [rowWords.accounts, '28%'],
  [rowWords.first],
  [rowWords.last],
]

function Group({ group: { direction, count, rows } }: { readonly group: DifferenceGroup }) {
  return (
    <Changes
      type={direction}
      title={rowWords.names[direction]}
      count={count}
      about={rowWords.hints[direction]}
      columns={COLUMNS}
      rows={rows}
    >
      {(row) => <Row key={`${row.api} ${row.kind}`} row={row} direction={direction} />}
    </Changes>
  )
}

function Row({
  row: { api, kind, count, firstMs, lastMs, accounts, others },
  direction,
}: {
  readonly row: DifferenceRow
  readonly direction: Difference
}) {
  return (
    <tr>
      <th scope="row">
        <a
          href={linkTo('operator/decisions', { when: 'past', api, shadow: direction })}
          aria-label={rowWords.search(api, rowWords.names[direction])}
        >
          {api}
        </a>
      </th>
      <td data-label={rowWords.kind}>{kind === '' ? <span class="dim">{rowWords.noKind}</span> : kind}</td>
      <td data-label={rowWords.count}>{count.toLocaleString('en')}</td>
      <td data-label={rowWords.accounts}>
        <Accounts accounts={accounts} others={others} />
      </td>
      <td data-label={rowWords.first}>{firstMs !== undefined && <Distance ms={firstMs} />}</td>
      <td data-label={rowWords.last}>{lastMs !== undefined && <Distance ms={lastMs} />}</td>
    </tr>
  )
}

/** So many fit into a row. */
const FEW = 2

function Accounts({ accounts, others }: Pick<DifferenceRow, 'accounts' | 'others'>) {
  const all = [
    ...accounts.map(({ account, count }) => rowWords.account(account, count)),
    ...(others > 0 ? [rowWords.others(others)] : []),
  ]
  const [few, rest] = [all.slice(0, FEW).join(', '), all.slice(FEW)]
  if (rest.length === 0) return <>{few}</>
  return (
    <details>
      <summary>
        {few} <span class="dim">{rowWords.more(rest.length)}</span>
      </summary>
      {rest.join(', ')}
    </details>
  )
}

/** How the shadow differs from the matrix in force, as the explorer shows it of two files. */
function Cells({ compared }: Pick<ShadowProps, 'compared'>) {
  const { value, error, reload } = compared
  if (error !== undefined) return <NotLoaded error={error} retry={() => void reload()} />
  if (value === undefined) return <p class="waiting">{words.cells.comparing}</p>
  return <Result title={words.cells.title} words={words.cells.sides} compared={value} />
}
