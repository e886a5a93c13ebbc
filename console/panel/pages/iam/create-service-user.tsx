/** The form of a new service user: name, permission scope, roles. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { useApi } from '../../context.tsx'
import { made } from '../../model/errors.ts'
import { NEW_DRAFT, permissionsOf, rolesOf } from '../../model/grants.ts'
import type { ServiceUser } from '../../model/iam-records.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../../parts/form.tsx'
import { AdministratorCheck, PermissionFields } from './grant-fields.tsx'
import type { CreateProps } from './record-page.tsx'

const { permission, roles, serviceUsers, shared } = texts

interface Props extends Pick<CreateProps<ServiceUser>, 'account' | 'close' | 'unknown'> {
  readonly created: (user: ServiceUser, password: string) => void
}

export function CreateServiceUser({ account, close, created, unknown }: Props) {
  const api = useApi()
  const [draft, setDraft] = useState(NEW_DRAFT)
  const [administrator, setAdministrator] = useState(false)
  const form = useForm({ name: '', roles: '', projects: '' }, ({ name }) => ({
    name: needed(name, shared.name),
    projects: permissionsOf(draft) === undefined ? permission.select : undefined,
  }))
  const submit = async ({ name, roles: others }: typeof form.values) => {
    const { user, password } = await made(
      api.directory.createServiceUser({
        ...{ account, name, permissions: permissionsOf(draft) ?? [] },
        roles: rolesOf(administrator, others),
      }),
      unknown,
    )
    if (user !== undefined) created(user, password)
  }
  return (
    <Dialog title={serviceUsers.createTitle} close={close} wide>
      <Form form={form} submit={submit} button={shared.create} cancel={close}>
        <TextField form={form} name="name" label={shared.name} hint={serviceUsers.nameHint} autofocus />
        <PermissionFields
          account={account}
          draft={draft}
          change={(next) => {
            setDraft(next)
            form.set({ projects: '' })
          }}
          fault={form.faults.projects}
        />
        <AdministratorCheck checked={administrator} change={setAdministrator} />
        <TextField form={form} name="roles" label={roles.others} hint={roles.othersHint} optional mono />
      </Form>
    </Dialog>
  )
}
