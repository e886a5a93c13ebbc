/**
 * Decisions: the live tail, which runs until it is paused and shows what the filters let through, and the way
 * to the past.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/operators.ts'
import { Choice, Command } from '../../ui/parts.tsx'
import { useGiven } from '../context.tsx'
import { messageOf } from '../model/messages.ts'
import { type Decision, NO_FILTER, type TailFilter } from '../model/tail.ts'
import { DecisionDetails } from '../parts/decision-details.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { TailTable } from '../parts/tail-table.tsx'
import { type Listened, useTail } from '../parts/use-tail.ts'
import { PastDecisions } from './past-decisions.tsx'

const words = texts.decisions

export function OperatorDecisionsPage() {
  const [{ when }, changeGiven] = useGiven()
  const choice = (
    <Choice
      label={words.when}
      options={(['live', 'past'] as const).map((value) => ({ value, text: words.whens[value] }))}
      chosen={when === 'past' ? 'past' : 'live'}
      choose={(chosen) => changeGiven({ when: chosen === 'past' ? 'past' : undefined }, 'push')}
    />
  )
  return when === 'past' ? <PastDecisions choice={choice} /> : <LiveDecisions choice={choice} />
}

interface LiveProps {
  /** Leads to the past. */
  readonly choice: ComponentChildren
}

function LiveDecisions({ choice }: LiveProps) {
  const listened = useTail()
  const { tail, connection, facts, problem, draw } = listened
  const [filter, setFilter] = useState(NO_FILTER)
  const [opened, open] = useState<Decision | undefined>(undefined)
  const change = (changed: Partial<TailFilter>) => {
    const next = { ...filter, ...changed }
    tail.filter(next)
    setFilter(next)
  }
  const pause = () => {
    if (tail.paused) return
    tail.pause()
    draw()
  }
  if (connection === 'off') return <Off />
  return (
    <Page filled title={words.title} about={words.about} actions={<Controls listened={listened} />}>
      {choice}
      <Filters filter={filter} change={change} apis={tail.apis} reasons={tail.reasons} />
      {facts !== undefined && (facts.samplePercent < 100 || facts.workers > 1) && (
        <p class="hint">
          {facts.samplePercent < 100 && words.sampled(facts.samplePercent)}{' '}
          {facts.workers > 1 && words.workers(facts.workers)}
        </p>
      )}
      {connection === 'refused' && (
        <p class="problem" role="alert">
          {words.refused} {problem && messageOf(problem)}
        </p>
      )}
      <div class="list tail">
        <TailTable
          entries={tail.shown}
          paused={tail.paused}
          pause={pause}
          open={open}
          empty={tail.received === 0 ? words.empty : words.emptyFilter}
        />
        <p class="list-foot">
          {words.received(tail.received)} · {words.shown(tail.shown.length)} · {words.pauses}
        </p>
      </div>
      {opened !== undefined && (
        <DecisionDetails decision={opened} only={change} close={() => open(undefined)} />
      )}
    </Page>
  )
}

function Off() {
  return (
    <Page title={words.title} about={words.off}>
      <p>{words.offAbout}</p>
      <Command title={words.offTitle} text={words.offConfig} />
    </Page>
  )
}

function Controls({ listened: { tail, connection, draw } }: { readonly listened: Listened }) {
  const [reads, setReads] = useState(false)
  const toggle = () => {
    if (tail.paused) tail.resume()
    else tail.pause()
    draw()
  }
  const state = tail.paused && connection === 'listening' ? 'paused' : connection
  return (
    <>
      <span class="tail-state" role="status" data-state={state}>
        {state === 'off' || state === 'refused' ? '' : words.states[state]}
      </span>
      <label class="check" title={words.readOutHint}>
        <input type="checkbox" checked={reads} onChange={() => setReads(!reads)} />
        {words.readOut}
      </label>
      {reads && <ReadOut tail={tail} />}
      <button
        type="button"
        onClick={() => {
          tail.clear()
          draw()
        }}
      >
        {words.clear}
      </button>
      <button type="button" class="primary" onClick={toggle}>
        {!tail.paused ? words.pause : tail.waiting > 0 ? words.resumeWith(tail.waiting) : words.resume}
      </button>
    </>
  )
}

/** Time between two texts that are read out, in milliseconds. */
const READ_OUT_MS = 5_000

/** A user cannot listen to two thousand decisions a second, so their number is read out. */
function ReadOut({ tail }: Pick<Listened, 'tail'>) {
  const [text, setText] = useState('')
  const before = useRef({ received: tail.received, denied: tail.denied })
  useEffect(() => {
    const timer = setInterval(() => {
      const { received, denied } = tail
      const count = received - before.current.received
      if (count > 0) setText(words.spoken(count, denied - before.current.denied))
      before.current = { received, denied }
    }, READ_OUT_MS)
    return () => clearInterval(timer)
  }, [tail])
  return (
    <span class="unseen" aria-live="polite">
      {text}
    </span>
  )
}

interface FiltersProps {
  readonly filter: TailFilter
  readonly change: (changed: Partial<TailFilter>) => void
  /** APIs that were asked about so far. */
  readonly apis: ReadonlySet<string>
  /** Reasons that were given so far. */
  readonly reasons: ReadonlySet<string>
}

function Filters({ filter: { text, verdict, reason, api }, change, apis, reasons }: FiltersProps) {
  return (
    <fieldset class="list-filters">
      <legend class="unseen">{words.filters}</legend>
      <SearchBox value={text} change={(changed) => change({ text: changed })} label={words.search} />
      <Choice
        label={words.verdict}
        options={(['all', 'allowed', 'denied'] as const).map((value) => ({
          value,
          text: words.verdicts[value],
        }))}
        chosen={verdict}
        choose={(chosen) => change({ verdict: chosen })}
      />
      <select
        aria-label={words.reason}
        value={reason}
        onChange={({ currentTarget }) => change({ reason: currentTarget.value })}
      >
        <option value="">{words.anyReason}</option>
        {[...reasons].sort().map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <select
        aria-label={words.api}
        value={api}
        onChange={({ currentTarget }) => change({ api: currentTarget.value })}
      >
        <option value="">{words.anyApi}</option>
        {[...apis].sort().map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </fieldset>
  )
}
