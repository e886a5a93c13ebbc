/** One-time codes: set up with an authenticator app, and removed. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { CopyButton } from '../../ui/parts.tsx'
import { useApi, useToast } from '../context.tsx'
import { apiErrorOf, GIVEN_UP, violationsOf } from '../model/errors.ts'
import { codeOf, type FactorsProps, grouped } from '../model/factors.ts'
import { messageOf } from '../model/messages.ts'
import type { NewCode } from '../model/wire.ts'
import { AskFirst } from './ask-first.tsx'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, TextField, useForm } from './form.tsx'
import { QrCode } from './qr-code.tsx'
import { Moment } from './time.tsx'

const words = texts.security.code

export function CodeSection({ factors: { password, code, passkeys }, reload }: FactorsProps) {
  const { factors } = useApi()
  const say = useToast()
  const [dialog, setDialog] = useState<'add' | 'remove' | undefined>(undefined)
  const close = () => setDialog(undefined)
  return (
    <section class="factor">
      <header>
        <h2>
          {words.title}{' '}
          {code && (
            <span class="badge" data-kind="good">
              {words.on}
            </span>
          )}
        </h2>
        <button type="button" onClick={() => setDialog(code ? 'remove' : 'add')}>
          {code ? words.remove : words.add}
        </button>
      </header>
      <p class="dim">
        {words.about} {password === null && words.needsPassword}
        {code && (
          <>
            {words.since} <Moment ms={code.createdAtMs} />.
          </>
        )}
      </p>
      {dialog === 'add' && (
        <SetUp
          close={close}
          done={async () => {
            close()
            say({ text: words.setUp.done })
            await reload()
          }}
        />
      )}
      {dialog === 'remove' && (
        <AskFirst
          title={words.removal.title}
          about={`${words.removal.about} ${password !== null && passkeys.length === 0 ? words.removal.alone : ''}`}
          button={words.removal.button}
          close={close}
          act={async () => {
            await factors.removeCode()
            say({ text: words.removal.done })
            await reload()
          }}
        />
      )}
    </section>
  )
}

interface SetUpProps {
  readonly close: () => void
  readonly done: () => Promise<void>
}

/** The secret is in this component alone, and the sidecar stores nothing before a code of it arrives. */
function SetUp({ close, done }: SetUpProps) {
  const { factors } = useApi()
  const [begun, setBegun] = useState<NewCode | undefined>(undefined)
  const [problem, setProblem] = useState('')
  useEffect(() => {
    factors.beginCode().then(setBegun, (error) => {
      const found = apiErrorOf(error)
      if (found.reason === GIVEN_UP) close()
      else setProblem(messageOf(found))
    })
  }, [])
  return (
    <Dialog title={words.setUp.title} close={close}>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {begun && <ConfirmCode begun={begun} close={close} done={done} again={setBegun} />}
    </Dialog>
  )
}

interface ConfirmCodeProps extends SetUpProps {
  readonly begun: NewCode
  readonly again: (begun: NewCode) => void
}

function ConfirmCode({ begun: { secret, uri, sealed }, close, done, again }: ConfirmCodeProps) {
  const { factors } = useApi()
  const form = useForm({ code: '' }, ({ code }) => ({
    code: codeOf(code) === undefined ? words.setUp.codeFault : undefined,
  }))
  const submit = async ({ code }: { readonly code: string }) => {
    try {
      await factors.addCode(sealed, codeOf(code) ?? '')
    } catch (error) {
      const found = apiErrorOf(error)
      if (found.reason === 'CODE_WRONG') throw new FieldError('code', words.setUp.wrong)
      if (violationsOf(found, ['sealed']).fields.sealed === undefined) throw error
      again(await factors.beginCode())
      throw new FieldError('code', words.setUp.tooLate)
    }
    await done()
  }
  return (
    <Form form={form} submit={submit} button={words.setUp.button} cancel={close}>
      <p>{words.setUp.scan}</p>
      <QrCode text={uri} label={words.setUp.picture} />
      <div class="code-secret">
        <p>{words.setUp.secret}</p>
        <div class="code-secret-row">
          <code>{grouped(secret)}</code>
          <CopyButton text={() => secret} />
        </div>
        <p>
          <a href={uri} rel="noreferrer">
            {words.setUp.open}
          </a>
        </p>
      </div>
      <TextField
        form={form}
        name="code"
        label={words.setUp.code}
        hint={words.setUp.codeHint}
        autocomplete="one-time-code"
        inputMode="numeric"
        autofocus
        mono
      />
    </Form>
  )
}
