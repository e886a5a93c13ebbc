/** Verifying pasted headers with the sidecar that served the page, as a service would ask it. */
import { useRef, useState } from 'preact/hooks'
import type { Circumstances, Verdict } from '../model/verify.ts'
import { texts } from '../texts/en/explorer.ts'
import { Message, VerdictBox } from './parts.tsx'

const FIELDS = ['account', 'project', 'clientAddress'] as const

/** The facts that a service sends the sidecar beside the headers. */
export function CircumstanceFields({
  circumstances,
  change,
}: {
  readonly circumstances: Circumstances
  readonly change: (circumstances: Circumstances) => void
}) {
  return (
    <details class="circumstances">
      <summary>{texts.try.circumstances.title}</summary>
      <p class="hint">{texts.try.circumstances.hint}</p>
      {FIELDS.map((name) => (
        <label key={name}>
          {texts.try.circumstances[name]}
          <input
            type="text"
            autocomplete="off"
            spellcheck={false}
            value={circumstances[name]}
            onInput={(event) => change({ ...circumstances, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
    </details>
  )
}

interface VerificationProps {
  readonly ask: () => Promise<Verdict>
  readonly titleOf: (kind: string) => string
}

/** Sends the credential, when the user chooses to. */
export function Verification({ ask, titleOf }: VerificationProps) {
  const [verdict, setVerdict] = useState<Verdict | 'asked' | undefined>(undefined)
  const asking = useRef(false)
  const onClick = async () => {
    if (asking.current) return
    asking.current = true
    setVerdict('asked')
    setVerdict(await ask())
    asking.current = false
  }
  return (
    <>
      <button type="button" onClick={onClick}>
        {verdict === 'asked' ? texts.try.verifying : texts.try.verify}
      </button>
      <p class="hint">{texts.try.verifyHint}</p>
      {typeof verdict === 'object' && verdict.type === 'error' && (
        <p role="alert">
          <strong>{texts.try.failed}.</strong> <Message text={verdict.message || texts.try.unreachable} />
        </p>
      )}
      {typeof verdict === 'object' && verdict.type === 'decision' && (
        <>
          <h3>{texts.try.answer}</h3>
          <VerdictBox answer={verdict} />
          {verdict.kind !== undefined && <p>{texts.try.kind(titleOf(verdict.kind))}</p>}
        </>
      )}
    </>
  )
}
