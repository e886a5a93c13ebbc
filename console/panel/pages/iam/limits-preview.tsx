/** The users whom the typed ranges would shut out: oneself first. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { useApi, useWho } from '../../context.tsx'
import { type ApiError, apiErrorOf } from '../../model/errors.ts'
import type { AddressPreview } from '../../model/iam-records.ts'
import { messageOf } from '../../model/messages.ts'
import { rangesOf } from '../../model/ranges.ts'
import { Distance, msOf } from '../../parts/time.tsx'
import { Name } from './records.tsx'

const { limits: words } = texts

/** While the user types, no request is sent. */
const TYPING_MS = 350

/** Rows that are drawn. Those who would be shut out come first. */
const SHOWN_MAX = 100

export interface Previewed {
  /** Of ranges that can be used, and that were not changed since. */
  readonly value: AddressPreview | undefined
  readonly error: ApiError | undefined
}

const NOTHING: Previewed = { value: undefined, error: undefined }

export function usePreview(account: string, text: string): Previewed {
  const api = useApi()
  const [previewed, set] = useState<Previewed & { readonly of?: string }>(NOTHING)
  const wanted = rangesOf(text).ranges.join('\n')
  useEffect(() => {
    const controller = new AbortController()
    const ask = async () => {
      try {
        const ranges = wanted === '' ? [] : wanted.split('\n')
        const value = await api.directory.previewAddressRestriction(
          { account, ranges },
          { signal: controller.signal },
        )
        set({ value, error: undefined, of: wanted })
      } catch (error) {
        if (!controller.signal.aborted) set({ value: undefined, error: apiErrorOf(error), of: wanted })
      }
    }
    const timer = setTimeout(ask, TYPING_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [api, account, wanted])
  return previewed.of === wanted ? previewed : NOTHING
}

interface LimitsPreviewProps {
  readonly preview: Previewed
  /** Whether there are ranges. */
  readonly any: boolean
}

export function LimitsPreview({ preview: { value, error }, any }: LimitsPreviewProps) {
  return (
    <section aria-live="polite" aria-busy={value === undefined && error === undefined}>
      <h2>{words.preview}</h2>
      {!any && <p class="hint">{words.previewEmpty}</p>}
      {any && value === undefined && error === undefined && <p class="hint">{words.previewing}</p>}
      {error?.reason === 'INVALID_ARGUMENT' && <p class="hint">{words.previewLater}</p>}
      {error !== undefined && error.reason !== 'INVALID_ARGUMENT' && <p role="alert">{messageOf(error)}</p>}
      {any && value !== undefined && <Outcome value={value} />}
    </section>
  )
}

function Outcome({ value: { requester, others, truncated } }: { readonly value: AddressPreview }) {
  const shut = others.filter(({ allowed }) => !allowed)
  const shown = [...shut, ...others.filter(({ allowed }) => allowed)].slice(0, SHOWN_MAX)
  return (
    <>
      <Oneself address={requester?.address ?? ''} allowed={requester?.allowed ?? false} />
      <p>{others.length === 0 ? words.noOthers : words.others(shut.length, others.length)}</p>
      {shown.length > 0 && (
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{words.who}</th>
              <th scope="col">{words.address}</th>
              <th scope="col">{words.outcome}</th>
              <th scope="col" data-hidden-on="phone">
                {words.seen}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ who, address, allowed, lastSeen }) => (
              <tr key={`${who} ${address}`}>
                <td>
                  <Name name={who} />
                </td>
                <td>
                  <code>{address}</code>
                </td>
                <td>
                  <Verdict allowed={allowed} />
                </td>
                <td data-hidden-on="phone">
                  <Distance ms={msOf(lastSeen) ?? 0} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="hint">
        {words.known} {(truncated || others.length > SHOWN_MAX) && words.truncated}
      </p>
    </>
  )
}

function Oneself({ address, allowed }: { readonly address: string; readonly allowed: boolean }) {
  const who = useWho()
  if (who.type === 'operator') return <p class="hint">{words.youOperator}</p>
  if (address === '' && !allowed) return <p class="problem">{words.youUnknown}</p>
  return (
    <p class={allowed ? 'oneself' : 'oneself problem'}>
      <strong>{words.you}</strong> <code>{address}</code> <Verdict allowed={allowed} />
    </p>
  )
}

function Verdict({ allowed }: { readonly allowed: boolean }) {
  return (
    <span class="badge" data-kind={allowed ? 'good' : 'bad'}>
      {allowed ? words.allowed : words.shutOut}
    </span>
  )
}
