/**
 * Keys, certificates and secrets of the sidecar: their states and ages, and what to do where one is too old.
 */
import type { ComponentChildren } from 'preact'
import { texts } from '../../texts/en/operators.ts'
import { texts as shared } from '../../texts/en/panel.ts'
import { Command, Facts, Message } from '../../ui/parts.tsx'
import { useApi, usePanel } from '../context.tsx'
import { distanceOf } from '../model/dates.ts'
import type { Keys } from '../model/wire.ts'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { Distance, Moment } from '../parts/time.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

const words = texts.keys

export function OperatorKeysPage() {
  const { operator } = useApi()
  return (
    <Page title={words.title} about={words.about}>
      <LoadedView loaded={useLoaded(operator.keys)}>
        {(keys) => (
          <>
            <SigningKeys keys={keys} />
            <Certificates keys={keys} />
            <Secrets keys={keys} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

interface Props {
  readonly keys: Keys
}

function SigningKeys({ keys: { signing, signs } }: Props) {
  return (
    <Part title={words.signing}>
      <Rows label={words.signing} titles={[words.id, words.state, words.since, words.made]}>
        {signing.map(({ id, state, sinceMs, createdAtMs, old }) => (
          <tr key={id}>
            <td>
              <code>{id}</code>
            </td>
            <td>
              <span class="badge" data-kind={old ? 'warn' : state === 'active' ? 'good' : undefined}>
                {words.states[state] ?? state}
              </span>
            </td>
            <td>
              <Distance ms={sinceMs} />
            </td>
            <td>
              <Moment ms={createdAtMs} otherwise={words.madeUnknown} />
            </td>
          </tr>
        ))}
      </Rows>
      {signing.some(({ old }) => old) && (
        <>
          <p class="notice">{words.old}</p>
          {signs && <Command title={words.rotate} text="portcullis keys rotate" />}
        </>
      )}
      {!signs && <p class="hint">{words.checksOnly}</p>}
    </Part>
  )
}

const TONES: Readonly<Record<string, string>> = { valid: 'good', ends_soon: 'warn', ended: 'bad' }

function Certificates({ keys: { certificates } }: Props) {
  return (
    <Part title={words.certificates}>
      {certificates.length === 0 ? (
        <p class="dim">{words.noCertificates}</p>
      ) : (
        <Rows label={words.certificates} titles={[words.what, words.subject, words.state, words.ends]}>
          {certificates.map(({ what, subject, state, endsAtMs }) => (
            <tr key={`${what} ${subject} ${endsAtMs}`}>
              <td>
                <code>{what}</code>
              </td>
              <td>{subject}</td>
              <td>
                <span class="badge" data-kind={TONES[state]}>
                  {words.certificateStates[state] ?? state}
                </span>
              </td>
              <td>
                <Moment ms={endsAtMs} />
              </td>
            </tr>
          ))}
        </Rows>
      )}
      {certificates.some(({ state }) => state !== 'valid') && <p class="hint">{words.renew}</p>}
    </Part>
  )
}

function Secrets({ keys: { pepper, administratorToken } }: Props) {
  const { panel } = usePanel()
  const written = (ms: number | null | undefined, otherwise: string) =>
    typeof ms === 'number' ? words.written(distanceOf(ms, panel.nowMs(), shared.time)) : otherwise
  return (
    <Part title={words.secrets}>
      <Facts
        facts={{
          [words.pepper]: written(pepper.writtenAtMs, words.missing),
          [words.administratorToken]: (
            <>
              {written(administratorToken?.writtenAtMs, words.off)}
              {administratorToken !== null && (
                <p class="hint">
                  <Message text={words.switchOff} />
                </p>
              )}
            </>
          ),
        }}
      />
    </Part>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

interface RowsProps {
  readonly label: string
  readonly titles: readonly string[]
  readonly children: ComponentChildren
}

function Rows({ label, titles, children }: RowsProps) {
  return (
    <div class="table-box">
      <table class="rows" aria-label={label}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
