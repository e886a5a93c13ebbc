/** The panel of a cell: the decision, the words of the source on both sides, the other mode, and commands. */

import { useLayoutEffect, useRef } from 'preact/hooks'
import { type CompiledApi, carriageOf, type TokenKind } from '../../engine/index.ts'
import { type CellView, type ConflictSides, cellView, otherMode, type Saying } from '../model/cell.ts'
import type { Opened } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon } from './icons.tsx'
import type { PageProps } from './page.ts'
import { Command, CopyButton, headline, linkOf, Section, VerdictBox } from './parts.tsx'

interface PanelProps extends PageProps {
  readonly opened: Opened
  readonly takeFocus: boolean
  readonly close: () => void
}

export function CellPanel(props: PanelProps) {
  const { engine, rules, mode, view, opened, takeFocus, close } = props
  const heading = useRef<HTMLHeadingElement>(null)
  const api = engine.apis.get(opened.api)
  const kind = opened.kind === undefined ? undefined : engine.tokenKinds.get(opened.kind)
  useLayoutEffect(() => {
    if (takeFocus) heading.current?.focus()
  }, [takeFocus, opened.api, opened.kind])
  const cell = kind && cellView(rules, mode, opened.api, kind.id)
  return (
    <aside class="panel" aria-label={texts.cell.panel}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {api?.title ?? opened.api}
          {kind && <span class="of-kind">{headline(kind.title)}</span>}
        </h2>
        <CopyButton text={() => linkOf(view, engine)} label={texts.copyLink} />
        <button type="button" class="quiet" onClick={close} aria-label={texts.close}>
          <Icon name="close" />
        </button>
      </header>
      {api === undefined || (opened.kind !== undefined && cell === undefined) ? (
        <p>{texts.cell.unknown}</p>
      ) : cell ? (
        <CellParts {...props} cell={cell} />
      ) : (
        <RowParts {...props} api={api} />
      )}
    </aside>
  )
}

function CellParts({ cell, mode, view, go }: PanelProps & { readonly cell: CellView }) {
  const { decision, kind } = cell
  const other = otherMode(mode)
  return (
    <>
      <VerdictBox answer={decision} />
      <Source cell={cell} />
      {(cell.conflicts.length > 0 || cell.otherMode) && (
        <Section title={texts.cell.otherMode[other]}>
          {cell.otherMode ? (
            <VerdictBox answer={cell.otherMode} />
          ) : (
            <p>{texts.cell.sameInOtherMode[other]}</p>
          )}
        </Section>
      )}
      {decision.allowed && (
        <Command title={texts.cell.request} text={cell.request} hint={texts.cell.requestHint} />
      )}
      {decision.allowed && cell.login && <Command title={texts.cell.login} text={cell.login} />}
      {decision.allowed && (kind.obtained.steps || kind.obtained.link) && (
        <Section title={texts.cell.steps}>
          <HowToObtain obtained={kind.obtained} />
        </Section>
      )}
      <Command title={texts.cell.ask} text={cell.check} />
      <Onwards view={view} go={go} api={cell.api.id} />
    </>
  )
}

export function HowToObtain({ obtained: { steps = [], link } }: Pick<TokenKind, 'obtained'>) {
  return (
    <>
      {steps.length > 0 && (
        <ol class="steps">
          {steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
      {link && (
        <p>
          <a href={link} target="_blank" rel="noreferrer">
            {link}
          </a>
        </p>
      )}
    </>
  )
}

function Source({ cell }: { readonly cell: CellView }) {
  const { row, kind, marked, document, conflicts, agreeing } = cell
  const note = cell.api.notes[kind.id]
  return (
    <Section title={texts.cell.source}>
      <dl class="sayings">
        <dt>
          {texts.cell.table} <span class="section">{row.section}</span>
        </dt>
        <dd>{texts.cell.marks(row.title, kind.title, marked)}</dd>
        {note !== undefined && <dd>{texts.cell.note(note)}</dd>}
        {document && row.line !== undefined && (
          <dd class="dim" title={document.digest}>
            {texts.cell.ofRow(document.document, document.digest.slice(0, 19), row.line)}
          </dd>
        )}
        {row.public && <dd>{texts.cell.public}</dd>}
        {agreeing.map((saying) => (
          <Prose key={saying.statement.id} saying={saying} document={document} />
        ))}
      </dl>
      {conflicts.map((sides) => (
        <ConflictPart key={sides.conflict.id} sides={sides} document={document} />
      ))}
    </Section>
  )
}

type OfDocument = Pick<CellView, 'document'>

function Prose({ saying: { statement, silent }, document }: OfDocument & { readonly saying: Saying }) {
  return (
    <>
      <dt>
        {texts.cell.prose} <span class="section">{statement.section}</span>
      </dt>
      <dd>
        <q>{statement.text}</q>
        {silent && <p class="silent">{texts.cell.silent}</p>}
        {document && statement.line !== undefined && (
          <p class="dim">{texts.cell.ofWords(document.document, statement.line)}</p>
        )}
      </dd>
    </>
  )
}

function ConflictPart({
  sides: { conflict, sayings },
  document,
}: OfDocument & { readonly sides: ConflictSides }) {
  return (
    <div class="conflict" data-contests={conflict.cells.length > 0}>
      <h4>
        <Icon name="flag" />
        {texts.cell.conflict[conflict.type]}
        <code>{conflict.id}</code>
      </h4>
      <dl class="sayings">
        {sayings.map((saying) => (
          <Prose key={saying.statement.id} saying={saying} document={document} />
        ))}
      </dl>
      <p>
        <strong>{texts.cell.resolution[conflict.resolution]}</strong> {sentence(conflict.reason)}
      </p>
    </div>
  )
}

/** Reasons are written like messages, in lower case and without a period. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

/** The panel of a row: which kinds open the API. */
function RowParts({ api, engine, view, go }: PanelProps & { readonly api: CompiledApi }) {
  return (
    <>
      <p class="dim">
        <code>{api.id}</code> <span class="section">{api.section}</span>
      </p>
      <Section title={texts.cell.accepts}>
        {api.public && <p>{texts.cell.public}</p>}
        {api.accepted.length === 0 && !api.public && <p>{texts.cell.acceptsNothing}</p>}
        <ul class="accepted">
          {api.accepted.map(({ kind, ...place }) => (
            <li key={kind}>
              <button type="button" class="link" onClick={() => go({ opened: { api: api.id, kind } })}>
                {headline(engine.tokenKinds.get(kind)?.title ?? kind)}
              </button>{' '}
              <span class="dim">{texts.table.inHeader(carriageOf(place))}</span>
              {api.notes[kind] && <span class="dim"> ({api.notes[kind]})</span>}
              {api.contested.includes(kind) && (
                <span class="contested">
                  <Icon name="flag" />
                  {texts.contested}
                </span>
              )}
            </li>
          ))}
        </ul>
      </Section>
      <Onwards view={view} go={go} api={api.id} />
    </>
  )
}

function Onwards({ view, go, api }: Pick<PageProps, 'view' | 'go'> & { readonly api: string }) {
  return (
    <p class="onwards">
      <button type="button" onClick={() => go({ page: 'try', api })}>
        {texts.cell.tryIt}
      </button>
      <button type="button" onClick={() => go({ page: 'plan', apis: [...new Set([...view.apis, api])] })}>
        {texts.cell.addToPlan}
      </button>
    </p>
  )
}
