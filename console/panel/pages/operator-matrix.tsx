/**
 * The matrix in force, for operators: what its shadow would change, promoting the shadow, and the way back to
 * an earlier matrix.
 */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/operators.ts'
import { texts as shared } from '../../texts/en/panel.ts'
import { focusTitle } from '../../ui/focus.ts'
import { Facts } from '../../ui/parts.tsx'
import { useToast, useWho } from '../context.tsx'
import type { Compared } from '../model/matrices.ts'
import type { Rollout, ShadowView } from '../model/rollout.ts'
import { ActButton } from '../parts/act-button.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { Moment } from '../parts/time.tsx'
import type { Loaded } from '../parts/use-loaded.ts'
import { PromoteDialog, RollBackDialog } from './rollout/dialogs.tsx'
import { Digest } from './rollout/digest.tsx'
import { Shadow } from './rollout/shadow.tsx'
import { useRollout } from './rollout/use-rollout.ts'
import { Versions } from './rollout/versions.tsx'

const words = texts.matrix

/** The action to confirm: about the values shown then, whatever is read meanwhile. */
type Asked =
  | {
      readonly what: 'promote'
      readonly rollout: Rollout
      readonly shadow: ShadowView
      readonly compared: Compared
    }
  | { readonly what: 'roll back'; readonly rollout: Rollout }

export function OperatorMatrixPage() {
  const say = useToast()
  const who = useWho()
  const changes = who.type === 'operator' && who.rights.everything
  const { loaded, matrices, compared } = useRollout()
  const { value, reload } = loaded
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const [replaced, setReplaced] = useState(false)
  const dialog = {
    matrices,
    close: () => ask(undefined),
    done: (text: string) => {
      say({ text })
      void reload()
      focusTitle()
    },
    replaced: () => {
      ask(undefined)
      setReplaced(true)
      void reload()
      focusTitle()
    },
  }
  return (
    <Page
      title={words.title}
      about={words.about}
      actions={
        <>
          <span class="tail-state" role="status">
            {value !== undefined && words.readAt(clockOf(value.atMs))}
          </span>
          <button type="button" onClick={() => void reload()}>
            {words.refresh}
          </button>
          {changes && value !== undefined && (
            <Changes
              rollout={value.rollout}
              compared={compared}
              ask={(next) => {
                setReplaced(false)
                ask(next)
              }}
            />
          )}
        </>
      }
    >
      {replaced && (
        <p class="notice" role="alert">
          {words.replaced}
        </p>
      )}
      <LoadedView loaded={loaded}>
        {({ rollout }) => (
          <>
            <InForce rollout={rollout} />
            <Shadow rollout={rollout} compared={compared} />
            <Versions versions={rollout.versions} />
          </>
        )}
      </LoadedView>
      {asked?.what === 'promote' && <PromoteDialog {...asked} {...dialog} />}
      {asked?.what === 'roll back' && <RollBackDialog {...asked} {...dialog} />}
    </Page>
  )
}

interface ChangesProps {
  readonly rollout: Rollout
  readonly compared: Loaded<Compared | undefined>
  readonly ask: (asked: Asked) => void
}

/** The buttons of an operator who may put another matrix in force. */
function Changes({ rollout, compared: { value: compared, error }, ask }: ChangesProps) {
  const { digest, promoted, earlier, shadow } = rollout
  return (
    <>
      {(promoted || earlier.length > 0) && (
        <button type="button" onClick={() => ask({ what: 'roll back', rollout })}>
          {words.rollBack.open}
        </button>
      )}
      {shadow !== undefined && shadow.digest !== digest && (
        <ActButton
          kind="primary"
          text={words.promote.open}
          why={compared ? undefined : words.cells[error ? 'notCompared' : 'comparing']}
          act={() => compared && ask({ what: 'promote', rollout, shadow, compared })}
        />
      )}
    </>
  )
}

function clockOf(ms: number): string {
  return new Intl.DateTimeFormat(shared.time.language, { timeStyle: 'medium' }).format(ms)
}

function InForce({ rollout }: { readonly rollout: Rollout }) {
  const { digest, configuredDigest, promoted, by, behind } = rollout
  const facts = {
    [words.digest]: <Digest digest={digest} copy />,
    [words.from]: promoted ? words.promoted : words.configured,
    [words.by]: by?.actor,
    [words.when]: by && <Moment ms={by.atMs} />,
    [words.why]: by?.reason,
    [words.configuredDigest]: promoted ? <Digest digest={configuredDigest} /> : undefined,
  }
  return (
    <section>
      <h2>{words.inForce}</h2>
      {behind && <p class="notice">{words.behind}</p>}
      <Facts facts={facts} />
    </section>
  )
}
