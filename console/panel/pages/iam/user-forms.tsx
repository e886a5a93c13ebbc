/** The forms of a control panel user: a new one, and one who is changed. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { useApi, useWho } from '../../context.tsx'
import { made } from '../../model/errors.ts'
import { ADMINISTRATOR_ROLE, otherRolesOf, raisesRights, rolesOf, sameRoles } from '../../model/grants.ts'
import type { ControlPanelUser } from '../../model/iam-records.ts'
import { whyNotAsOwner } from '../../model/may.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../../parts/form.tsx'
import { AdministratorCheck, Check, Ends } from './grant-fields.tsx'
import type { CreateProps } from './record-page.tsx'

const { users: words, roles, shared } = texts

export function CreateUser({ account, close, created, unknown }: CreateProps<ControlPanelUser>) {
  const api = useApi()
  const [owner, setOwner] = useState(false)
  const [administrator, setAdministrator] = useState(false)
  const form = useForm({ name: '', roles: '' }, ({ name }) => ({ name: needed(name, shared.name) }))
  const submit = async ({ name, roles: others }: typeof form.values) => {
    const { user } = await made(
      api.directory.createControlPanelUser({
        ...{ account, name, owner },
        roles: rolesOf(administrator, others),
      }),
      unknown,
    )
    if (user !== undefined) created(user)
  }
  return (
    <Dialog title={words.createTitle} close={close} wide>
      <Form form={form} submit={submit} button={shared.create} cancel={close}>
        <TextField form={form} name="name" label={shared.name} hint={shared.nameHint} autofocus />
        <OwnerCheck account={account} checked={owner} change={setOwner} />
        <AdministratorCheck checked={administrator} change={setAdministrator} />
        <TextField form={form} name="roles" label={roles.others} hint={roles.othersHint} optional mono />
      </Form>
    </Dialog>
  )
}

interface ChangeProps {
  readonly user: ControlPanelUser
  readonly close: () => void
  readonly changed: (user: ControlPanelUser | undefined, text: string) => void
}

/** Untouched values are not sent. */
export function ChangeUser({ user, close, changed }: ChangeProps) {
  const { account, name, roles: held, owner: heldOwner } = user
  const api = useApi()
  const [owner, setOwner] = useState(heldOwner)
  const [administrator, setAdministrator] = useState(held.includes(ADMINISTRATOR_ROLE))
  const form = useForm({ roles: otherRolesOf(held) })
  const submit = async ({ roles: others }: typeof form.values) => {
    const wanted = rolesOf(administrator, others)
    const { user: after, credentialsEnded } = await api.directory.updateControlPanelUser({
      ...{ account, name },
      ...(owner !== heldOwner && { owner }),
      ...(!sameRoles(wanted, held) && { roles: { roles: wanted } }),
    })
    changed(after, credentialsEnded ? shared.risenNow(name) : shared.changedNow(name))
    close()
  }
  return (
    <Dialog title={words.changeTitle(name)} close={close} wide>
      <Form form={form} submit={submit} button={shared.save} cancel={close}>
        <OwnerCheck account={account} checked={owner} change={setOwner} />
        <AdministratorCheck checked={administrator} change={setAdministrator} />
        <TextField form={form} name="roles" label={roles.others} hint={roles.othersHint} optional mono />
        {raisesRights(user, { owner, roles: rolesOf(administrator, form.values.roles) }) && (
          <Ends text={roles.endsOfPerson(name)} />
        )}
      </Form>
    </Dialog>
  )
}

interface OwnerCheckProps {
  readonly account: string
  readonly checked: boolean
  readonly change: (checked: boolean) => void
}

/** Owners alone make owners. */
function OwnerCheck({ account, checked, change }: OwnerCheckProps) {
  const why = whyNotAsOwner(useWho(), account)
  return (
    <fieldset class="field options">
      <legend class="label">{words.owner}</legend>
      <Check
        label={words.ownerBox}
        hint={words.ownerHint}
        checked={checked}
        change={change}
        why={why && texts.why[why]}
      />
    </fieldset>
  )
}
