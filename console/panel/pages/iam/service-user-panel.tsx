/** The panel of a service user: what it is, what it may obtain and open, and the actions on it. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { Facts } from '../../../ui/parts.tsx'
import { useApi, useWho } from '../../context.tsx'
import {
  ADMINISTRATOR_ROLE,
  draftOf,
  otherRolesOf,
  permissionsOf,
  raisesRights,
  rolesOf,
  sameDraft,
  sameRoles,
} from '../../model/grants.ts'
import { type Permission, PermissionScope, type ServiceUser } from '../../model/iam-records.ts'
import { whyNoChange, whyNoLogin } from '../../model/may.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField, useForm } from '../../parts/form.tsx'
import { Moment, msOf } from '../../parts/time.tsx'
import { AdministratorCheck, Ends, PermissionFields } from './grant-fields.tsx'
import { Obtains } from './obtains.tsx'
import type { NewPassword } from './password-once.tsx'
import { type Action, Actions, DeleteDialog, EnableDialog, type Records } from './record-page.tsx'
import { Name, State } from './records.tsx'

const { permission, roles, serviceUsers, shared } = texts

interface PanelProps {
  readonly user: ServiceUser
  readonly records: Records<ServiceUser>
  readonly showPassword: (secret: NewPassword) => void
}

export function ServiceUserPanel({ user, records, showPassword }: PanelProps) {
  const { account, name, enabled } = user
  const { directory } = useApi()
  const who = useWho()
  const why = whyNoChange(who, account)
  const whyLogin = whyNoLogin(who, account, user)
  const about = { records, record: user }
  const replace = async () => {
    const { password } = await directory.replaceServiceUserPassword({ account, name })
    showPassword({ user, password })
  }
  const actions: readonly Action[] = [
    {
      text: shared.change,
      why,
      dialog: (close) => <ChangeServiceUser {...{ user, close }} changed={records.become} />,
    },
    {
      text: serviceUsers.replace,
      why: whyLogin,
      dialog: (close) => (
        <AskFirst
          title={serviceUsers.replaceTitle}
          about={serviceUsers.replaceAbout(name)}
          button={serviceUsers.replaceButton}
          close={close}
          act={replace}
        />
      ),
    },
    {
      text: enabled ? shared.disable : shared.enable,
      why: enabled ? why : whyLogin,
      dialog: (close) => <EnableDialog {...about} close={close} />,
    },
    { text: shared.delete, why, dialog: (close) => <DeleteDialog {...about} close={close} />, danger: true },
  ]
  return (
    <>
      <UserFacts user={user} />
      <Actions actions={actions} whys={[why, whyLogin]} />
      <Obtains user={user} />
    </>
  )
}

function UserFacts({ user }: { readonly user: ServiceUser }) {
  const { permissions, roles: held, enabled, createdAt, validator, id } = user
  return (
    <Facts
      facts={{
        [shared.state]: <State enabled={enabled} />,
        [permission.title]: <Permissions permissions={permissions} />,
        [shared.roles]: held.length === 0 ? <span class="dim">{shared.noRoles}</span> : held.join(', '),
        [serviceUsers.validator]: validator ? serviceUsers.validatorYes : undefined,
        [shared.created]: <Moment ms={msOf(createdAt)} />,
        [shared.id]: <code>{id}</code>,
      }}
    />
  )
}

type Granted = { readonly permissions: readonly Pick<Permission, 'scope' | 'projects'>[] }

/** Each permission in full. */
function Permissions({ permissions }: Granted) {
  if (permissions.length === 0) return <span class="dim">{permission.none}</span>
  return (
    <ul class="plain">
      {permissions.map(({ scope, projects }) => (
        <li key={`${scope} ${projects.join(' ')}`}>
          {scope === PermissionScope.PERMISSION_SCOPE_ACCOUNT
            ? permission.scopes.account
            : `${permission.scopes.projects}: `}
          {projects.map((name, index) => (
            <>
              {index > 0 && ', '}
              <Name name={name} />
            </>
          ))}
        </li>
      ))}
    </ul>
  )
}

/** The permissions that fit into a row. */
export function PermissionsShort({ permissions }: Granted) {
  const { scope, projects } = draftOf(permissions)
  if (scope === 'none') return <span class="dim">{permission.none}</span>
  return <>{scope === 'account' ? permission.account : <bdi>{permission.projectsShort(projects)}</bdi>}</>
}

interface ChangeProps {
  readonly user: ServiceUser
  readonly close: () => void
  readonly changed: (user: ServiceUser | undefined, text: string) => void
}

/** Untouched values are not sent. */
function ChangeServiceUser({ user, close, changed }: ChangeProps) {
  const { account, name, permissions: held, roles: heldRoles } = user
  const api = useApi()
  const [draft, setDraft] = useState(() => draftOf(held))
  const [administrator, setAdministrator] = useState(heldRoles.includes(ADMINISTRATOR_ROLE))
  const form = useForm({ roles: otherRolesOf(heldRoles), projects: '' }, () => ({
    projects: permissionsOf(draft) === undefined ? permission.select : undefined,
  }))
  const submit = async ({ roles: others }: typeof form.values) => {
    const wanted = rolesOf(administrator, others)
    const { user: after, credentialsEnded } = await api.directory.updateServiceUser({
      ...{ account, name },
      ...(!sameDraft(draft, draftOf(held)) && { permissions: { permissions: permissionsOf(draft) ?? [] } }),
      ...(!sameRoles(wanted, heldRoles) && { roles: { roles: wanted } }),
    })
    changed(after, credentialsEnded ? shared.risenNow(name) : shared.changedNow(name))
    close()
  }
  return (
    <Dialog title={serviceUsers.changeTitle(name)} close={close} wide>
      <Form form={form} submit={submit} button={shared.save} cancel={close}>
        <p class="hint">{serviceUsers.changeAbout}</p>
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
        {raisesRights(user, { roles: rolesOf(administrator, form.values.roles) }) && (
          <Ends text={roles.endsOfMachine(name)} />
        )}
      </Form>
    </Dialog>
  )
}
