/** Accepting an invitation: somebody chooses their password. */
import { useEffect, useState } from 'preact/hooks'
import { FIRST_ROUTE, linkTo } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { goTo, usePanel } from '../context.tsx'
import { type ApiError, apiErrorOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { faultOf, type Holder } from '../model/passwords.ts'
import type { Invitation } from '../model/wire.ts'
import { Form, TextField, useForm } from '../parts/form.tsx'
import { Strength } from '../parts/strength.tsx'
import { Moment } from '../parts/time.tsx'

interface Opened {
  readonly secret: string
  readonly invitation: Invitation
}

export function InvitationPage({ takeSecret }: { readonly takeSecret: () => string | undefined }) {
  const { api } = usePanel()
  const [opened, setOpened] = useState<Opened | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  useEffect(() => {
    const secret = takeSecret()
    if (secret === undefined) {
      setProblem(texts.invitation.invalidHint)
      return
    }
    api.session.invitation(secret).then(
      (invitation) => setOpened({ secret, invitation }),
      (error) => setProblem(problemOf(apiErrorOf(error))),
    )
  }, [takeSecret, api])
  if (problem !== undefined)
    return (
      <div class="card">
        <h1>{texts.invitation.invalid}</h1>
        <p role="alert">{problem}</p>
        <p>
          <a href={linkTo('login')}>{texts.link.logIn}</a>
        </p>
      </div>
    )
  if (opened === undefined) return <p class="waiting">{texts.loading}</p>
  return <Accept opened={opened} lost={setProblem} />
}

interface AcceptProps {
  readonly opened: Opened
  readonly lost: (problem: string) => void
}

function Accept({ opened: { secret, invitation }, lost }: AcceptProps) {
  const { panel, api } = usePanel()
  const form = useForm({ password: '', again: '' }, ({ password, again }) =>
    checked(password, again, invitation),
  )
  const submit = async ({ password }: { readonly password: string }) => {
    try {
      panel.accept(await api.session.acceptInvitation(secret, password))
      goTo(FIRST_ROUTE, 'replace')
    } catch (error) {
      const found = apiErrorOf(error)
      if (found.reason === 'LINK_INVALID') lost(problemOf(found))
      else throw error
    }
  }
  const { password } = form.values
  return (
    <div class="card">
      <h1>{texts.invitation.title}</h1>
      <p>{texts.invitation.welcome(invitation.user, invitation.account)}</p>
      <Form form={form} submit={submit} button={texts.invitation.button}>
        <input type="text" name="username" autocomplete="username" value={invitation.user} readOnly hidden />
        <TextField
          form={form}
          name="password"
          label={texts.invitation.password}
          type="password"
          autocomplete="new-password"
          autofocus
          below={<Strength password={password} holder={invitation} />}
        />
        <TextField
          form={form}
          name="again"
          label={texts.invitation.again}
          type="password"
          autocomplete="new-password"
        />
      </Form>
      <p class="hint">{texts.invitation.resets}</p>
      <p class="hint">
        {texts.invitation.until}: <Moment ms={invitation.endsAtMs} />
      </p>
    </div>
  )
}

function checked(password: string, again: string, holder: Holder) {
  const fault = faultOf(password, holder)
  return {
    password: fault && texts.password.faults[fault],
    again: fault === undefined && again !== password ? texts.invitation.differs : undefined,
  }
}

function problemOf(error: ApiError): string {
  return error.reason === 'LINK_INVALID' ? texts.invitation.invalidHint : messageOf(error)
}
