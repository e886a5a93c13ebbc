/** Accepting an invitation: a user chooses their password. */
import { useCallback, useState } from 'preact/hooks'
import { FIRST_ROUTE } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { goTo, usePanel } from '../context.tsx'
import { type ApiError, apiErrorOf } from '../model/errors.ts'
import { faultOf, type Holder } from '../model/passwords.ts'
import type { Invitation } from '../model/wire.ts'
import { Form, TextField, useForm } from '../parts/form.tsx'
import { Unusable, useSecretLink } from '../parts/secret-link.tsx'
import { Strength } from '../parts/strength.tsx'
import { Moment } from '../parts/time.tsx'

export function InvitationPage({ takeSecret }: { readonly takeSecret: () => string | undefined }) {
  const { api } = usePanel()
  const [invitation, setInvitation] = useState<Invitation | undefined>(undefined)
  const send = useCallback(
    async (secret: string) => {
      setInvitation(undefined)
      setInvitation(await api.session.invitation(secret))
    },
    [api],
  )
  const link = useSecretLink(takeSecret, send)
  const { secret, problem, failed } = link
  if (secret === undefined || problem !== undefined) return <Unusable link={link} words={texts.invitation} />
  if (invitation === undefined) return <p class="waiting">{texts.loading}</p>
  return <Accept secret={secret} invitation={invitation} lost={failed} />
}

interface AcceptProps {
  readonly secret: string
  readonly invitation: Invitation
  /** It was used meanwhile, or replaced by another one. */
  readonly lost: (error: ApiError) => void
}

function Accept({ secret, invitation, lost }: AcceptProps) {
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
      if (found.reason === 'LINK_INVALID') lost(found)
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
