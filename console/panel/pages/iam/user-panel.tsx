/** The panel of a control panel user: invitation, rights, sessions, static tokens. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { focusTitle } from '../../../ui/focus.ts'
import { useApi, useToast, useWho } from '../../context.tsx'
import type { ControlPanelUser } from '../../model/iam-records.ts'
import { whyNoInvitation, whyNoUserChange } from '../../model/may.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { ConfirmName } from '../../parts/confirm-name.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { Moment, msOf } from '../../parts/time.tsx'
import type { Pages } from '../../parts/use-pages.ts'
import { Act, Reasons, State } from './records.tsx'
import { ChangeUser } from './user-forms.tsx'
import { UserSessions } from './user-sessions.tsx'
import { UserTokens } from './user-tokens.tsx'

const { users: words, shared } = texts

interface PanelProps {
  readonly user: ControlPanelUser
  readonly pages: Pages<ControlPanelUser>
  /** Also where it is not in the list that is loaded. */
  readonly changed: (user: ControlPanelUser) => void
  readonly deleted: () => void
}

type Doing = 'invite' | 'change' | 'disable' | 'delete' | undefined

export function UserPanel(props: PanelProps) {
  const { user, pages, changed: tell } = props
  const { account, id, enabled } = user
  const say = useToast()
  const who = useWho()
  const [doing, setDoing] = useState<Doing>(undefined)
  // A new value after what ended sessions: they are loaded again.
  const [ended, setEnded] = useState(0)
  const why = whyNoUserChange(who, account, user)
  const whyInvite = whyNoInvitation(who, account, user)
  const become = (changed: ControlPanelUser | undefined, text: string) => {
    if (changed !== undefined) {
      pages.change(
        (row) => row.id === id,
        () => changed,
      )
      tell(changed)
    }
    setEnded((count) => count + 1)
    say({ text })
  }
  return (
    <>
      <Facts user={user} />
      <div class="actions start">
        <Act text={words.invite} why={whyInvite} act={() => setDoing('invite')} />
        <Act text={shared.change} why={why} act={() => setDoing('change')} />
        <Act text={enabled ? shared.disable : shared.enable} why={why} act={() => setDoing('disable')} />
        <Act text={shared.delete} why={why} act={() => setDoing('delete')} danger />
      </div>
      <Reasons whys={[why, whyInvite]} />
      <UserSessions key={`sessions ${ended}`} user={user} why={why} />
      <UserTokens user={user} why={why} />
      <Doings {...{ ...props, doing, become }} close={() => setDoing(undefined)} />
    </>
  )
}

interface DoingsProps extends PanelProps {
  readonly doing: Doing
  readonly close: () => void
  readonly become: (changed: ControlPanelUser | undefined, text: string) => void
}

function Doings({ user, pages, deleted, doing, close, become }: DoingsProps) {
  const { account, name, id, enabled } = user
  const api = useApi()
  const say = useToast()
  if (doing === 'invite') return <Invite user={user} close={close} />
  if (doing === 'change') return <ChangeUser user={user} close={close} changed={become} />
  if (doing === 'disable')
    return (
      <AskFirst
        title={enabled ? words.disableTitle : words.enableTitle}
        about={enabled ? words.disableAbout(name) : words.enableAbout(name)}
        button={enabled ? shared.disable : shared.enable}
        danger={enabled}
        close={close}
        act={async () => {
          const { user: after } = await api.directory.updateControlPanelUser({
            ...{ account, name, enabled: !enabled },
          })
          become(after, enabled ? shared.disabledNow(name) : shared.enabledNow(name))
        }}
      />
    )
  if (doing === 'delete')
    return (
      <ConfirmName
        title={words.deleteTitle}
        about={words.deleteAbout}
        name={name}
        button={words.deleteButton(name)}
        close={close}
        act={async () => {
          await api.directory.deleteControlPanelUser({ account, name })
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

/** Says first what accepting does, then shows the link once. */
function Invite({ user: { account, name }, close }: Pick<DoingsProps, 'user' | 'close'>) {
  const api = useApi()
  const [link, setLink] = useState<string | undefined>(undefined)
  if (link === undefined)
    return (
      <AskFirst
        title={words.inviteTitle}
        about={words.inviteAbout(name)}
        button={words.inviteButton}
        danger={false}
        close={close}
        act={async () => {
          const { secret } = await api.directory.createInvitation({ account, userName: name })
          setLink(`${location.href.split('#')[0]}#/invitation?secret=${encodeURIComponent(secret)}`)
        }}
        stays
      />
    )
  return (
    <SecretOnce
      title={words.linkTitle(name)}
      about={words.linkAbout(name)}
      label={words.link}
      value={link}
      fileName="invitation.txt"
      close={close}
    />
  )
}

function Facts({ user: { owner, roles, enabled, createdAt, id } }: { readonly user: ControlPanelUser }) {
  return (
    <dl class="facts">
      <dt>{shared.state}</dt>
      <dd>
        <State enabled={enabled} />
      </dd>
      <dt>{words.kind}</dt>
      <dd>{owner ? words.owner : words.plain}</dd>
      <dt>{shared.roles}</dt>
      <dd>{roles.length === 0 ? <span class="dim">{shared.noRoles}</span> : roles.join(', ')}</dd>
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
