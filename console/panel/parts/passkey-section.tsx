/** Passkeys: added with a name, listed, and removed. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { useApi, useSession, useToast } from '../context.tsx'
import { type FactorsProps, PASSKEYS_MAX, passkeyAddress } from '../model/factors.ts'
import type { Passkey } from '../model/wire.ts'
import { AddPasskey } from './add-passkey.tsx'
import { AskFirst } from './ask-first.tsx'
import { Fact, Item, Items } from './items.tsx'
import { LastUse } from './last-use.tsx'
import { Moment } from './time.tsx'

const words = texts.security.passkeys

export function PasskeySection({ factors: { password, passkeys, code }, reload }: FactorsProps) {
  const { factors } = useApi()
  const say = useToast()
  const { passkeys: possible } = useSession()
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Passkey | undefined>(undefined)
  const full = passkeys.length >= PASSKEYS_MAX
  const leavesPassword = password !== null && passkeys.length === 1 && code === null
  return (
    <section class="factor">
      <header>
        <h2>{words.title}</h2>
        {possible && !full && (
          <button type="button" onClick={() => setAdding(true)}>
            {words.add}
          </button>
        )}
      </header>
      <p class="dim">{words.about}</p>
      {!possible && <HostNameNeeded />}
      {full && <p class="notice">{words.full}</p>}
      {passkeys.length === 0 && <p>{words.empty}</p>}
      {passkeys.length > 0 && (
        <Items label={words.list} items={passkeys} keyOf={({ id }) => id}>
          {(passkey) => <PasskeyItem passkey={passkey} remove={() => setRemoving(passkey)} />}
        </Items>
      )}
      {adding && (
        <AddPasskey
          close={() => setAdding(false)}
          added={async ({ name }) => {
            setAdding(false)
            say({ text: words.dialog.done(name) })
            await reload()
          }}
        />
      )}
      {removing && (
        <AskFirst
          title={words.removal.title(removing.name)}
          about={`${words.removal.about} ${leavesPassword ? words.removal.alone : ''}`}
          button={words.removal.button}
          close={() => setRemoving(undefined)}
          act={async () => {
            await factors.removePasskey(removing.id)
            say({ text: words.removal.done(removing.name) })
            await reload()
          }}
        />
      )}
    </section>
  )
}

interface PasskeyItemProps {
  readonly passkey: Passkey
  readonly remove: () => void
}

function PasskeyItem({ passkey: { name, createdAtMs, lastUsedDay }, remove }: PasskeyItemProps) {
  return (
    <Item
      title={name}
      facts={
        <>
          <Fact name={words.added}>
            <Moment ms={createdAtMs} />
          </Fact>
          <LastUse isoDate={lastUsedDay} />
        </>
      }
      actions={
        <button type="button" class="danger" aria-label={words.removeNamed(name)} onClick={remove}>
          {words.remove}
        </button>
      }
    />
  )
}

/** Browsers have no passkeys for an IP address. */
function HostNameNeeded() {
  const address = passkeyAddress(location)
  return (
    <p class="notice">
      {words.hostName}{' '}
      {address === undefined ? (
        words.elsewhere
      ) : (
        <>
          {words.open} <a href={address}>{new URL(address).origin}</a>
        </>
      )}
    </p>
  )
}
