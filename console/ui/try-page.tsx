/** Trying headers. They are in the memory of this page alone, and go away with it. */
import { useMemo, useState } from 'preact/hooks'
import type { Engine, Matrix } from '../../engine/index.ts'
import { isShared, tryExample } from '../model/sample.ts'
import { placeText } from '../model/shell.ts'
import { type Candidate, credentialHeaders, readPasted, type Trial, tryHeaders } from '../model/try.ts'
import { NO_CIRCUMSTANCES } from '../model/verify.ts'
import type { View } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { ApiPicker } from './api-picker.tsx'
import type { PageProps } from './page.ts'
import { headline, Message, VerdictBox } from './parts.tsx'
import { CircumstanceFields, Verification } from './verification.tsx'

/** Longest text that is read. Headers of a request are far shorter. */
const PASTED_LENGTH_MAX = 100_000

export function TryPage({ rules, engine, view, go, verify }: PageProps) {
  const { text, setText, example } = useHeaders(rules.matrix, view)
  const [circumstances, setCircumstances] = useState(NO_CIRCUMSTANCES)
  const pasted = useMemo(() => readPasted(text), [text])
  // A user who pastes headers chooses the API, too.
  const api = view.api ?? example?.api
  const trial = api !== undefined && text.trim() !== '' ? tryHeaders(engine, api, pasted) : undefined
  return (
    <div class="task">
      <h1>{texts.try.title}</h1>
      <p>{texts.try.about}</p>
      <div class="columns">
        <form onSubmit={(event) => event.preventDefault()}>
          <ApiPicker
            engine={engine}
            label={texts.try.api}
            picked={api}
            pick={(picked) => go({ api: picked }, 'replace')}
          />
          <label for="headers">{texts.try.headers}</label>
          <textarea
            id="headers"
            rows={8}
            maxLength={PASTED_LENGTH_MAX}
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholderOf(engine)}
            value={text}
            aria-describedby="headers-private"
            onFocus={({ currentTarget }) => example && currentTarget.select()}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="hint" id="headers-private">
            {verify ? texts.try.privateUntilVerified : texts.try.private}
          </p>
          {text !== '' && (
            <button type="button" class="quiet" onClick={() => setText('')}>
              {texts.try.clear}
            </button>
          )}
        </form>
        <div class="result" aria-live="polite">
          {example && <p class="hint">{texts.try.example}</p>}
          {api === undefined && text.trim() !== '' && <p class="dim">{texts.try.choose}</p>}
          {trial && <TrialResult trial={trial} />}
          {trial && pasted.unread.length > 0 && (
            <p class="hint">{texts.try.unread(pasted.unread.join(', '))}</p>
          )}
          {trial && api !== undefined && isDenied(trial) && engine.apis.has(api) && (
            <p>
              <button type="button" onClick={() => go({ page: 'plan', apis: [api] })}>
                {texts.try.obtain}
              </button>
            </p>
          )}
          {trial?.type === 'found' && verify && api !== undefined && !example && (
            <section class="verification">
              <CircumstanceFields circumstances={circumstances} change={setCircumstances} />
              <Verification
                key={JSON.stringify([api, text, circumstances])}
                ask={() => verify(api, credentialHeaders(engine, pasted), circumstances)}
                titleOf={(kind) => engine.tokenKinds.get(kind)?.title ?? kind}
              />
            </section>
          )}
        </div>
      </div>
    </div>
  )
}

/** The headers: those of an example, until the user types or pastes others. */
function useHeaders(matrix: Matrix, view: View) {
  const [begin] = useState(() => (view.api === undefined && !isShared(view) ? tryExample(matrix) : undefined))
  const [typed, setText] = useState<string | undefined>(undefined)
  const example = typed === undefined ? begin : undefined
  return { text: typed ?? begin?.text ?? '', setText, example }
}

/** Whether no token that may be in the headers opens the API. */
function isDenied(trial: Trial): boolean {
  return trial.type === 'fault' || trial.candidates.every(({ decision }) => !decision.allowed)
}

function TrialResult({ trial }: { readonly trial: Trial }) {
  if (trial.type === 'fault')
    return (
      <>
        <h2>{texts.try.fault}</h2>
        <VerdictBox answer={trial.decision} />
        {trial.otherHeaders.length > 0 && (
          <p class="hint">{texts.try.other(trial.otherHeaders.join(', '))}</p>
        )}
      </>
    )
  return (
    <>
      <h2>
        <Message text={texts.try.found(trial.header)} />
      </h2>
      <p>{aboutCandidates(trial.candidates.length)}</p>
      {trial.candidates.map((candidate) => (
        <CandidateResult key={candidate.kind.id} candidate={candidate} />
      ))}
    </>
  )
}

function CandidateResult({ candidate: { kind, decision } }: { readonly candidate: Candidate }) {
  return (
    <section>
      <h3>{headline(kind.title)}</h3>
      <VerdictBox answer={decision} />
    </section>
  )
}

/** Where one of the kinds is sent. */
function placeholderOf({ tokenKinds }: Engine): string {
  const [kind] = tokenKinds.values()
  return kind === undefined ? '' : texts.try.headersHint(placeText(kind))
}

function aboutCandidates(count: number): string {
  if (count === 0) return texts.try.noKind
  return count > 1 ? texts.try.candidates : texts.try.one
}
