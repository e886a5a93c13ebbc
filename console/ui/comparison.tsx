/**
 * How two matrices differ: the cells that one of them opens, those that it closes, what it makes of the kinds
 * of token, and what else changes.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Matrix } from '../../engine/index.ts'
import {
  type CellFlip,
  type CellSide,
  type Comparison,
  compareInSteps,
  type FieldChange,
  type ListChange,
  type Rename,
} from '../../matrix/compare.ts'
import { bearsOn, type Direction } from '../../matrix/flip-sides.ts'
import { factTexts, type KindFlip } from '../../matrix/kind-flips.ts'
import { compareTexts } from '../texts/en/compare.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon, Mark } from './icons.tsx'
import { inSlices } from './in-slices.ts'
import { headline } from './parts.tsx'

/** Two matrices, and how they differ. */
export interface Compared {
  readonly before: Matrix
  readonly after: Matrix
  readonly comparison: Comparison
}

/**
 * The result of comparing, which takes a moment where the matrices are large.
 *
 * @param after `undefined`: there is nothing to compare with
 * @returns `undefined`: nothing yet
 */
export function useCompared(before: Matrix, after: Matrix | undefined): Compared | undefined {
  const [compared, setCompared] = useState<Compared | undefined>(undefined)
  useEffect(() => {
    if (after === undefined) return
    const stop = new AbortController()
    const compare = async () => {
      try {
        const comparison = await inSlices(compareInSteps(before, after), stop.signal)
        setCompared({ before, after, comparison })
      } catch (error) {
        if (!stop.signal.aborted) throw error
      }
    }
    void compare()
    return () => stop.abort()
  }, [before, after])
  return compared?.before === before && compared.after === after ? compared : undefined
}

/** The names of the two sides. */
export interface SideWords {
  readonly before: string
  readonly after: string
  readonly hints: Readonly<Record<Direction, string>>
}

interface ResultProps {
  readonly title: string
  readonly words: SideWords
  readonly compared: Compared
}

const DIRECTIONS: readonly Direction[] = ['opened', 'closed']

/**
 * How many changes of one type are shown at first, and how many more when they are asked for. A thousand rows
 * take a second to draw.
 */
const SHOWN_FIRST = 100
const SHOWN_MORE = 400

export function summaryOf({ flips, renames, kindFlips }: Comparison): string {
  const count = (of: readonly { readonly direction: string }[], direction: string) =>
    of.filter((flip) => flip.direction === direction).length
  const gained = renames.flatMap((rename) => rename.gained).length
  const ofKinds = (direction: string) => count(kindFlips, direction)
  return [
    flips.length === 0
      ? compareTexts.same
      : compareTexts.counts(count(flips, 'opened'), count(flips, 'closed')),
    ...(gained > 0 ? [compareTexts.renamedCount(gained)] : []),
    ...(kindFlips.length > 0
      ? [compareTexts.factCounts(ofKinds('loosened'), ofKinds('changed'), ofKinds('tightened'))]
      : []),
  ].join(' ')
}

export function Result({ title, words, compared: { before, after, comparison } }: ResultProps) {
  const { flips, kindFlips, renames, apis, tokenKinds, statements, conflicts } = comparison
  return (
    <div class="compared">
      <h2>{title}</h2>
      <p>{summaryOf(comparison)}</p>
      {DIRECTIONS.map((direction) => (
        <Flips
          key={direction}
          direction={direction}
          words={words}
          flips={flips.filter((flip) => flip.direction === direction)}
          before={before}
          after={after}
        />
      ))}
      <Facts words={words} flips={kindFlips} before={before} after={after} />
      <Renames renames={renames} />
      <ListChanges title={compareTexts.kinds} change={tokenKinds} />
      <ListChanges title={compareTexts.apis} change={apis} />
      <ListChanges title={compareTexts.conflicts} change={conflicts} />
      <ListChanges title={compareTexts.statements} change={statements} />
    </div>
  )
}

interface FlipsProps {
  readonly direction: Direction
  readonly words: SideWords
  readonly flips: readonly CellFlip[]
  readonly before: Matrix
  readonly after: Matrix
}

function Flips({ direction, words, flips, before, after }: FlipsProps) {
  const [shown, setShown] = useState(SHOWN_FIRST)
  const titles = useMemo(() => titlesOf(before, after), [before, after])
  if (flips.length === 0) return null
  return (
    <section class="changes" data-type={direction}>
      <h3>
        {compareTexts.types[direction]}{' '}
        <span class="number">{flips.length.toLocaleString(texts.language)}</span>
      </h3>
      <p class="dim">{words.hints[direction]}</p>
      <table aria-label={compareTexts.types[direction]}>
        <thead>
          <tr>
            <th scope="col">{texts.table.api}</th>
            <th scope="col">{compareTexts.kind}</th>
            <th scope="col">{words.before}</th>
            <th scope="col">{words.after}</th>
          </tr>
        </thead>
        <tbody>
          {flips.slice(0, shown).map((flip) => (
            <tr key={`${flip.api} ${flip.kind}`}>
              <th scope="row">
                {titles.apis.get(flip.api) ?? flip.api} <code>{flip.api}</code>
              </th>
              <td>{headline(titles.kinds.get(flip.kind) ?? flip.kind)}</td>
              <Side label={words.before} flip={flip} side={flip.before} />
              <Side label={words.after} flip={flip} side={flip.after} />
            </tr>
          ))}
        </tbody>
      </table>
      {flips.length > shown && (
        <p>
          <button type="button" onClick={() => setShown(shown + SHOWN_MORE)}>
            {compareTexts.showMore(Math.min(SHOWN_MORE, flips.length - shown))}
          </button>{' '}
          <span class="dim">{compareTexts.more(flips.length - shown)}</span>
        </p>
      )}
    </section>
  )
}

interface FactsProps {
  readonly words: SideWords
  readonly flips: readonly KindFlip[]
  readonly before: Matrix
  readonly after: Matrix
}

/** The changes of the kinds themselves. There are at most 64 kinds. */
function Facts({ words, flips, before, after }: FactsProps) {
  const titles = useMemo(() => titlesOf(before, after).kinds, [before, after])
  if (flips.length === 0) return null
  return (
    <section class="changes" data-type={flips.some((flip) => bearsOn(flip, 'opened')) ? 'opened' : 'closed'}>
      <h3>
        {compareTexts.facts} <span class="number">{flips.length.toLocaleString(texts.language)}</span>
      </h3>
      <p class="dim">{compareTexts.factsHint}</p>
      <table aria-label={compareTexts.facts}>
        <thead>
          <tr>
            <th scope="col">{compareTexts.kind}</th>
            <th scope="col">{compareTexts.fact}</th>
            <th scope="col">{words.before}</th>
            <th scope="col">{words.after}</th>
          </tr>
        </thead>
        <tbody>
          {flips.map((flip) => {
            const [was, is] = factTexts(flip)
            return (
              <tr key={`${flip.kind} ${flip.field}`}>
                <th scope="row">
                  {headline(titles.get(flip.kind) ?? flip.kind)} <code>{flip.kind}</code>
                </th>
                <td data-label={compareTexts.fact}>
                  {compareTexts.factTypes[flip.direction]}: <code>{flip.field}</code>
                </td>
                <td data-label={words.before}>{was}</td>
                <td data-label={words.after}>{is}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

/** Id → title. Of what both have, that of the other matrix. */
function titlesOf(before: Matrix, after: Matrix) {
  const titles = (part: 'apis' | 'tokenKinds') =>
    new Map([...before[part], ...after[part]].map(({ id, title }) => [id, title]))
  return { apis: titles('apis'), kinds: titles('tokenKinds') }
}

interface SideProps {
  /** Of the column: a phone has no head of the table. */
  readonly label: string
  readonly flip: CellFlip
  readonly side: CellSide
}

function Side({ label, flip: { modes }, side }: SideProps) {
  const [mode = 'lenient'] = modes
  const reason = side[mode]
  const allowed = reason === 'ALLOWED'
  return (
    <td data-label={label}>
      <Mark
        state={allowed ? 'allowed' : reason === 'CONTESTED' ? 'denied-strict' : 'denied'}
        text={allowed ? texts.states.allowed : texts.states.denied}
      />
      {!allowed && <code class="reason">{reason}</code>}
      {modes.length === 1 && <span class="dim">{compareTexts.onlyIn[mode]}</span>}
      {side.conflicts.length > 0 && (
        <span class="contested">
          <Icon name="flag" />
          {side.conflicts.join(', ')}
        </span>
      )}
    </td>
  )
}

function Renames({ renames }: { readonly renames: readonly Rename[] }) {
  if (renames.length === 0) return null
  return (
    <section>
      <h3>{compareTexts.renamed}</h3>
      <p class="dim">{compareTexts.renamedHint}</p>
      <ul>
        {renames.slice(0, SHOWN_FIRST).map(({ from, to }) => (
          <li key={to}>
            <code>{from}</code> → <code>{to}</code>
          </li>
        ))}
      </ul>
      {renames.length > SHOWN_FIRST && <p>{compareTexts.more(renames.length - SHOWN_FIRST)}</p>}
    </section>
  )
}

function ListChanges({ title, change }: { readonly title: string; readonly change: ListChange }) {
  const rows = [
    ['added', change.added.map((id) => ({ id, what: '' }))],
    ['removed', change.removed.map((id) => ({ id, what: '' }))],
    ['changed', change.changed.map(({ id, fields }) => ({ id, what: fields.map(textOf).join(', ') }))],
  ] as const
  const shown = rows.filter(([, items]) => items.length > 0)
  if (shown.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <dl class="facts">
        {shown.map(([type, items]) => (
          <>
            <dt>{compareTexts[type]}</dt>
            <dd>
              {items.slice(0, SHOWN_FIRST).map(({ id, what }) => (
                <span key={id}>
                  <code>{id}</code> {what}{' '}
                </span>
              ))}
              {items.length > SHOWN_FIRST && compareTexts.more(items.length - SHOWN_FIRST)}
            </dd>
          </>
        ))}
      </dl>
    </section>
  )
}

/** The field alone where its values are long or nested. */
function textOf({ field, before, after }: FieldChange): string {
  const isShort = [before, after].every((value) => typeof value !== 'object' && String(value).length <= 60)
  return isShort ? `${field}: ${before} → ${after}` : field
}
