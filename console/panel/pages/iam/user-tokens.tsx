/**
 * The static tokens of a control panel user, which an administrator may revoke as the user does: see
 * `useRevocations`.
 */
import { texts } from '../../../texts/en/iam.ts'
import type { ControlPanelUser } from '../../model/iam-records.ts'
import { shownKeys } from '../../model/keys.ts'
import type { Why } from '../../model/may.ts'
import { ApiKeyItem } from '../../parts/api-key-item.tsx'
import { Items } from '../../parts/items.tsx'
import { LoadedView } from '../../parts/loaded-view.tsx'
import { useApiKeys } from '../../parts/use-api-keys.ts'
import { useRevocations } from '../../parts/use-revocations.ts'

const { tokens: words } = texts

interface TokensProps {
  readonly user: ControlPanelUser
  readonly why: Why | undefined
}

export function UserTokens({ user, why }: TokensProps) {
  const keys = useApiKeys(user)
  const { revocations, said } = useRevocations(user)
  return (
    <section>
      <h3>{words.title}</h3>
      <p class="unseen" role="status">
        {said}
      </p>
      <LoadedView loaded={keys}>
        {(all) =>
          all.length === 0 ? (
            <p class="hint">{words.empty}</p>
          ) : (
            <Items
              label={words.title}
              items={shownKeys(all, { revoked: true, kept: () => true })}
              keyOf={({ id }) => id}
            >
              {(key) => <ApiKeyItem item={key} revocations={revocations} why={why && texts.why[why]} />}
            </Items>
          )
        }
      </LoadedView>
    </section>
  )
}
