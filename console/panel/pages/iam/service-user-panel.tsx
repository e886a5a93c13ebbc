/** The panel of a service user: what it is, what it may obtain and open, and what can be done with it. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { focusTitle } from '../../../ui/focus.ts'
import { useApi, useToast, useWho } from '../../context.tsx'
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
import { ConfirmName } from '../../parts/confirm-name.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField, useForm } from '../../parts/form.tsx'
import { Moment, msOf } from '../../parts/time.tsx'
import type { Pages } from '../../parts/use-pages.ts'
import { AdministratorCheck, Ends, PermissionFields } from './grant-fields.tsx'
import { Obtains } from './obtains.tsx'
import type { NewPassword } from './password-once.tsx'
import { Act, Name, Reasons, State } from './records.tsx'

const { permission, roles, serviceUsers, shared } = texts

interface PanelProps {
  readonly user: ServiceUser
  readonly pages: Pages<ServiceUser>
  /** Also where it is not in the list that is loaded. */
  readonly changed: (user: ServiceUser) => void
  readonly deleted: () => void
  readonly showPassword: (secret: NewPassword) => void
}

type Doing = 'change' | 'replace' | 'disable' | 'delete' | undefined

export function ServiceUserPanel(props: PanelProps) {
  const { user, pages, changed: tell } = props
  const { account, name, id } = user
  const api = useApi()
  const say = useToast()
  const who = useWho()
  const [doing, setDoing] = useState<Doing>(undefined)
  const why = whyNoChange(who, account)
  const whyLogin = whyNoLogin(who, account, user)
  const become = (changed: ServiceUser | undefined, text: string) => {
    if (changed !== undefined) {
      pages.change(
        (row) => row.id === id,
        () => changed,
      )
      tell(changed)
    }
    say({ text })
  }
  const setEnabled = async (enabled: boolean) => {
    const { user: changed } = await api.directory.updateServiceUser({ account, name, enabled })
    become(changed, enabled ? shared.enabledNow(name) : shared.disabledNow(name))
  }
  return (
    <>
      <Facts user={user} />
      <div class="actions start">
        <Act text={shared.change} why={why} act={() => setDoing('change')} />
        <Act text={serviceUsers.replace} why={whyLogin} act={() => setDoing('replace')} />
        {user.enabled ? (
          <Act text={shared.disable} why={why} act={() => setDoing('disable')} />
        ) : (
          <Act text={shared.enable} why={whyLogin} act={() => setDoing('disable')} />
        )}
        <Act text={shared.delete} why={why} act={() => setDoing('delete')} danger />
      </div>
      <Reasons whys={[why, whyLogin]} />
      <Obtains user={user} />
      <Doings {...{ ...props, doing, become, setEnabled }} close={() => setDoing(undefined)} />
    </>
  )
}

interface DoingsProps extends PanelProps {
  readonly doing: Doing
  readonly close: () => void
  readonly become: (changed: ServiceUser | undefined, text: string) => void
  readonly setEnabled: (enabled: boolean) => Promise<void>
}

function Doings(props: DoingsProps) {
  const { user, pages, doing, close, become, setEnabled, deleted, showPassword } = props
  const { account, name, id, enabled } = user
  const api = useApi()
  const say = useToast()
  if (doing === 'change') return <ChangeServiceUser user={user} close={close} changed={become} />
  if (doing === 'replace')
    return (
      <AskFirst
        title={serviceUsers.replaceTitle}
        about={serviceUsers.replaceAbout(name)}
        button={serviceUsers.replaceButton}
        close={close}
        act={async () => {
          const { password } = await api.directory.replaceServiceUserPassword({ account, name })
          showPassword({ user, password })
        }}
      />
    )
  if (doing === 'disable')
    return (
      <AskFirst
        title={enabled ? serviceUsers.disableTitle : serviceUsers.enableTitle}
        about={enabled ? serviceUsers.disableAbout(name) : serviceUsers.enableAbout(name)}
        button={enabled ? shared.disable : shared.enable}
        danger={enabled}
        close={close}
        act={() => setEnabled(!enabled)}
      />
    )
  if (doing === 'delete')
    return (
      <ConfirmName
        title={serviceUsers.deleteTitle}
        about={serviceUsers.deleteAbout}
        name={name}
        button={serviceUsers.deleteButton(name)}
        close={close}
        act={async () => {
          await api.directory.deleteServiceUser({ account, name })
          pages.change(
            (row) => row.id === id,
            () => undefined,
          )
          say({ text: shared.deletedNow(name) })
          deleted()
          focusTitle()
        }}
      />
    )
  return null
}

function Facts({ user }: { readonly user: ServiceUser }) {
  const { permissions, roles: held, enabled, createdAt, validator, id } = user
  return (
    <dl class="facts">
      <dt>{shared.state}</dt>
      <dd>
        <State enabled={enabled} />
      </dd>
      <dt>{permission.title}</dt>
      <dd>
        <Permissions permissions={permissions} />
      </dd>
      <dt>{shared.roles}</dt>
      <dd>{held.length === 0 ? <span class="dim">{shared.noRoles}</span> : held.join(', ')}</dd>
      {validator && (
        <>
          <dt>{serviceUsers.validator}</dt>
          <dd>{serviceUsers.validatorYes}</dd>
        </>
      )}
      <dt>{shared.created}</dt>
      <dd>
        <Moment ms={msOf(createdAt)} />
      </dd>
      <dt>{shared.id}</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
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
          {scope === PermissionScope.ACCOUNT ? permission.scopes.account : `${permission.scopes.projects}: `}
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

/** What fits into a row. */
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

/** What is not touched is not sent. */
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
