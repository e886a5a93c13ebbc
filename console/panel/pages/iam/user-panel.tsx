/** The panel of a control panel user: invitation, rights, sessions, static tokens. */
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { Facts } from '../../../ui/parts.tsx'
import { useApi, useWho } from '../../context.tsx'
import type { ControlPanelUser } from '../../model/iam-records.ts'
import { whyNoInvitation, whyNoUserChange } from '../../model/may.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { Moment, msOf } from '../../parts/time.tsx'
import { type Action, Actions, DeleteDialog, EnableDialog, type Records } from './record-page.tsx'
import { State } from './records.tsx'
import { ChangeUser } from './user-forms.tsx'
import { UserSessions } from './user-sessions.tsx'
import { UserTokens } from './user-tokens.tsx'

const { users: words, shared } = texts

interface PanelProps {
  readonly user: ControlPanelUser
  readonly records: Records<ControlPanelUser>
}

export function UserPanel({ user, records }: PanelProps) {
  const { account, enabled } = user
  const who = useWho()
  // A new value after what ended sessions: they are loaded again.
  const [ended, setEnded] = useState(0)
  const why = whyNoUserChange(who, account, user)
  const whyInvite = whyNoInvitation(who, account, user)
  const become = (changed: ControlPanelUser | undefined, text: string) => {
    records.become(changed, text)
    setEnded((count) => count + 1)
  }
  const about = { records: { ...records, become }, record: user }
  const actions: readonly Action[] = [
    { text: words.invite, why: whyInvite, dialog: (close) => <Invite user={user} close={close} /> },
    { text: shared.change, why, dialog: (close) => <ChangeUser {...{ user, close }} changed={become} /> },
    {
      text: enabled ? shared.disable : shared.enable,
      why,
      dialog: (close) => <EnableDialog {...about} close={close} />,
    },
    { text: shared.delete, why, dialog: (close) => <DeleteDialog {...about} close={close} />, danger: true },
  ]
  return (
    <>
      <UserFacts user={user} />
      <Actions actions={actions} whys={[why, whyInvite]} />
      <UserSessions key={`sessions ${ended}`} user={user} why={why} />
      <UserTokens user={user} why={why} />
    </>
  )
}

interface InviteProps {
  readonly user: ControlPanelUser
  readonly close: () => void
}

/** Says first what accepting does, then shows the link once. */
function Invite({ user: { account, name }, close }: InviteProps) {
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

function UserFacts({ user: { owner, roles, enabled, createdAt, id } }: { readonly user: ControlPanelUser }) {
  return (
    <Facts
      facts={{
        [shared.state]: <State enabled={enabled} />,
        [words.kind]: owner ? words.owner : words.plain,
        [shared.roles]: roles.length === 0 ? <span class="dim">{shared.noRoles}</span> : roles.join(', '),
        [shared.created]: <Moment ms={msOf(createdAt)} />,
        [shared.id]: <code>{id}</code>,
      }}
    />
  )
}
