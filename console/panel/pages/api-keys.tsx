/** Profile → Access → API Keys (§4.2): the static tokens of a control panel user. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/profile.ts'
import { type ApiKey, fileNameOf, shownKeys } from '../model/keys.ts'
import { type AddedKey, AddKeyDialog } from '../parts/add-key.tsx'
import { ApiKeyItem } from '../parts/api-key-item.tsx'
import { Items } from '../parts/items.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { RequestCommands } from '../parts/request-commands.tsx'
import { SecretOnce } from '../parts/secret-once.tsx'
import { useApiKeys } from '../parts/use-api-keys.ts'
import { useRevocations } from '../parts/use-revocations.ts'
import { useUser } from '../parts/use-user.ts'

export function ApiKeysPage() {
  const user = useUser()
  const keys = useApiKeys(user)
  const { revocations, said } = useRevocations(user)
  const [adding, setAdding] = useState(false)
  const [added, setAdded] = useState<AddedKey | undefined>(undefined)
  const [revoked, setRevoked] = useState(false)
  const add = (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.keys.add}
    </button>
  )
  return (
    <Page title={texts.keys.title} about={texts.keys.about} actions={add}>
      <p class="unseen" role="status">
        {said}
      </p>
      <LoadedView loaded={keys}>
        {(all) => (
          <KeyList
            all={all}
            shown={shownKeys(all, { revoked, kept: (id) => revocations.of(id) !== undefined })}
            toggle={{ revoked, setRevoked }}
          >
            {(key) => <ApiKeyItem item={key} revocations={revocations} />}
          </KeyList>
        )}
      </LoadedView>
      {adding && (
        <AddKeyDialog
          keys={(keys.value ?? []).filter(({ id }) => revocations.of(id)?.state !== 'revoked')}
          close={() => setAdding(false)}
          unknown={() => void keys.reload()}
          added={(made) => {
            setAdding(false)
            setAdded(made)
            keys.change((before) => [...before, made.key])
          }}
        />
      )}
      {added && <KeyOnce added={added} close={() => setAdded(undefined)} />}
    </Page>
  )
}

interface KeyListProps {
  readonly all: readonly ApiKey[]
  readonly shown: readonly ApiKey[]
  readonly toggle: { readonly revoked: boolean; readonly setRevoked: (revoked: boolean) => void }
  readonly children: (key: ApiKey) => preact.ComponentChildren
}

function KeyList({ all, shown, toggle: { revoked, setRevoked }, children }: KeyListProps) {
  if (all.length === 0)
    return (
      <div class="nothing-yet">
        <p>
          <strong>{texts.keys.empty}</strong>
        </p>
        <p class="dim">{texts.keys.emptyHint}</p>
      </div>
    )
  return (
    <>
      {shown.length === 0 ? (
        <p class="nothing-yet">{texts.keys.noneActive}</p>
      ) : (
        <Items label={texts.keys.list} items={shown} keyOf={({ id }) => id}>
          {children}
        </Items>
      )}
      {all.some(({ revokedAtMs }) => revokedAtMs !== undefined) && (
        <label class="check">
          <input
            type="checkbox"
            checked={revoked}
            onChange={({ currentTarget }) => setRevoked(currentTarget.checked)}
          />
          {texts.keys.showRevoked}
        </label>
      )}
    </>
  )
}

/** The key itself. It is only in this component, and is gone after “I have saved it”. */
function KeyOnce({ added, close }: { readonly added: AddedKey; readonly close: () => void }) {
  const { key, place, value } = added
  return (
    <SecretOnce
      title={texts.keys.secret.title(key.name)}
      about={texts.keys.secret.about}
      label={texts.keys.secret.label}
      value={value}
      fileName={fileNameOf(key.name)}
      close={close}
    >
      <RequestCommands place={place} kind={key.kind} />
    </SecretOnce>
  )
}
