/** The password of a control panel user, and its change. */
import { useState } from 'preact/hooks'
import { texts as shared } from '../../texts/en/panel.ts'
import { texts } from '../../texts/en/profile.ts'
import { useApi, useToast } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import { type FactorsProps, passwordFaults } from '../model/factors.ts'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, TextField, useForm } from './form.tsx'
import { Strength } from './strength.tsx'
import { Moment } from './time.tsx'
import { useUser } from './use-user.ts'

const words = texts.security.password

export function PasswordSection({ factors: { password }, reload }: FactorsProps) {
  const [changing, setChanging] = useState(false)
  const isNew = password === null
  return (
    <section class="factor">
      <header>
        <h2>{words.title}</h2>
        <button type="button" onClick={() => setChanging(true)}>
          {isNew ? words.set : words.change}
        </button>
      </header>
      <p class="dim">
        {isNew ? (
          words.none
        ) : (
          <>
            {words.changed} <Moment ms={password.changedAtMs} />
          </>
        )}
      </p>
      {changing && <ChangePassword isNew={isNew} close={() => setChanging(false)} reload={reload} />}
    </section>
  )
}

interface ChangePasswordProps extends Pick<FactorsProps, 'reload'> {
  /** There is none yet. */
  readonly isNew: boolean
  readonly close: () => void
}

function ChangePassword({ isNew, close, reload }: ChangePasswordProps) {
  const { factors } = useApi()
  const say = useToast()
  const { account, name: user } = useUser()
  const form = useForm({ current: '', password: '', again: '' }, (values) =>
    passwordFaults(values, { account, user }, isNew),
  )
  const submit = async ({ current, password }: { readonly current: string; readonly password: string }) => {
    try {
      await factors.setPassword(isNew ? undefined : current, password)
    } catch (error) {
      if (apiErrorOf(error).reason === 'LOGIN_FAILED') throw new FieldError('current', words.wrong)
      throw error
    }
    close()
    say({ text: isNew ? words.doneFirst : words.done })
    await reload()
  }
  return (
    <Dialog title={isNew ? words.set : words.change} close={close}>
      <Form form={form} submit={submit} button={isNew ? words.set : words.change} cancel={close}>
        <input type="text" name="username" autocomplete="username" value={user} readOnly hidden />
        {!isNew && (
          <TextField
            form={form}
            name="current"
            label={words.current}
            type="password"
            autocomplete="current-password"
            autofocus
          />
        )}
        <TextField
          form={form}
          name="password"
          label={words.new}
          type="password"
          autocomplete="new-password"
          autofocus={isNew}
          below={<Strength password={form.values.password} holder={{ account, user }} />}
        />
        <TextField
          form={form}
          name="again"
          label={words.again}
          type="password"
          autocomplete="new-password"
          hint={isNew ? shared.password.hint : words.ends}
        />
      </Form>
    </Dialog>
  )
}
