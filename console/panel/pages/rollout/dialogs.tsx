/**
 * The questions before another matrix is put in force: why, and whether the user saw the flips. A
 * promotion and the way back ask alike.
 */
import { useId, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/operators.ts'
import { texts as shared } from '../../../texts/en/panel.ts'
import { summaryOf } from '../../../ui/comparison.tsx'
import { Command, Message } from '../../../ui/parts.tsx'
import { useApi } from '../../context.tsx'
import { momentOf } from '../../model/dates.ts'
import { apiErrorOf } from '../../model/errors.ts'
import type { Compared, Matrices } from '../../model/matrices.ts'
import {
  confirmsNumber,
  type Opening,
  openingOf,
  promoteCommand,
  type Rollout,
  rollBackCommand,
  type ShadowView,
  shortOf,
  wasReplaced,
} from '../../model/rollout.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, type FormState, needed, TextField, useForm } from '../../parts/form.tsx'
import { useCompared } from './use-rollout.ts'

const words = texts.matrix

interface DialogProps {
  readonly rollout: Rollout
  readonly close: () => void
  readonly done: (text: string) => void
  /** Another matrix is there than the one that was looked at, and nothing was done. */
  readonly replaced: () => void
}

interface PromoteProps extends DialogProps {
  readonly shadow: ShadowView
  /** The matrix in force and its shadow. */
  readonly compared: Compared
}

export function PromoteDialog(props: PromoteProps) {
  const { rollout, shadow, compared, close, done, replaced } = props
  const { directory } = useApi()
  const opening = openingOf(compared.comparison)
  const { opened, loosened } = opening
  const form = useForm({ reason: '', ...NOTHING_TYPED }, (typed) => ({
    reason: needed(typed.reason, words.reason),
    ...faultsOf(typed, opening),
  }))
  const submit = orReplaced(replaced, async ({ reason }: { readonly reason: string }) => {
    await directory.promoteMatrix({
      ...{ digest: rollout.digest, shadowDigest: shadow.digest, reason: reason.trim() },
    })
    close()
    done(words.promote.done)
  })
  return (
    <Dialog title={words.promote.title} close={close} wide>
      <Form
        form={form}
        submit={submit}
        button={words.promote.button}
        danger={opened + loosened > 0}
        cancel={close}
      >
        <p>
          <strong>{summaryOf(compared.comparison)}</strong>{' '}
          {words.promote.compared(shadow.compared, shadow.differing)} {words.everywhere}
        </p>
        <TextField form={form} name="reason" label={words.reason} hint={words.reasonHint} autofocus />
        <Confirmations form={form} opening={opening} />
        <Command title={words.command} text={promoteCommand(form.values.reason, opening)} />
      </Form>
    </Dialog>
  )
}

interface RollBackProps extends DialogProps {
  readonly matrices: Matrices
}

export function RollBackDialog({ rollout, matrices, close, done, replaced }: RollBackProps) {
  const { directory } = useApi()
  const { digest, earlier, promoted } = rollout
  const [to, choose] = useState(earlier[0]?.digest ?? '')
  const { value: compared, error } = useCompared(matrices, digest, to === '' ? rollout.configuredDigest : to)
  const opening = error !== undefined ? 'unknown' : compared && openingOf(compared.comparison)
  const form = useForm({ reason: '', ...NOTHING_TYPED }, (typed) => ({
    reason: needed(typed.reason, words.reason),
    ...faultsOf(typed, opening),
  }))
  const { reason } = form.values
  const submit = orReplaced(replaced, async (typed: { readonly reason: string }) => {
    await directory.rollBackMatrix({
      ...{ digest, reason: typed.reason.trim() },
      to: to === '' ? { $case: 'toConfigured', value: true } : { $case: 'toDigest', value: to },
    })
    close()
    done(words.rollBack.done)
  })
  return (
    <Dialog title={words.rollBack.title} close={close} wide>
      <Form
        form={form}
        submit={submit}
        button={words.rollBack.button}
        danger
        disabled={opening === undefined}
        cancel={close}
      >
        <ToField
          to={to}
          choose={(chosen) => {
            choose(chosen)
            form.set(NOTHING_TYPED)
          }}
          earlier={earlier}
          configured={promoted}
        />
        <Change compared={compared} isUnknown={error !== undefined} />
        <p>{words.everywhere}</p>
        <TextField form={form} name="reason" label={words.reason} hint={words.reasonHint} autofocus />
        <Confirmations form={form} opening={opening} />
        <Command
          title={words.command}
          text={rollBackCommand(reason, to, opening === 'unknown' ? undefined : (opening ?? NOTHING_OPENS))}
        />
      </Form>
    </Dialog>
  )
}

interface ToFieldProps extends Pick<Rollout, 'earlier'> {
  readonly to: string
  readonly choose: (digest: string) => void
  /** Whether the matrices of the configurations can be in force again. */
  readonly configured: boolean
}

function ToField({ to, choose, earlier, configured }: ToFieldProps) {
  const id = useId()
  const when = (ms: number | undefined) => (ms === undefined ? '' : momentOf(ms, shared.time.language))
  return (
    <div class="field">
      <label for={id}>{words.rollBack.to}</label>
      <select id={id} value={to} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {earlier.map(({ digest, atMs }) => (
          <option key={digest} value={digest}>
            {words.rollBack.version(shortOf(digest), when(atMs))}
          </option>
        ))}
        {configured && <option value="">{words.versions.configurations}</option>}
      </select>
    </div>
  )
}

interface ChangeProps {
  /** `undefined`: not yet, or it is not known. */
  readonly compared: Compared | undefined
  readonly isUnknown: boolean
}

/** The cells that the way back opens and closes. */
function Change({ compared, isUnknown }: ChangeProps) {
  if (isUnknown)
    return (
      <p class="hint">
        <Message text={words.rollBack.unknown} />
      </p>
    )
  if (compared === undefined) return <p class="waiting">{words.cells.comparing}</p>
  return (
    <p>
      <strong>{summaryOf(compared.comparison)}</strong>
    </p>
  )
}

/** The numbers that a user types who has seen the flips. */
type Typed = Readonly<Record<'opened' | 'loosened' | 'unseen', string>>

const NOTHING_TYPED: Typed = { opened: '', loosened: '', unseen: '' }
const NOTHING_OPENS: Opening = { opened: 0, loosened: 0 }

/** @param opening `undefined`: the matrices are being compared */
function faultsOf(typed: Typed, opening: Opening | 'unknown' | undefined): Partial<Typed> {
  const { openedDiffers, loosenedDiffers, unseenWord, unseenDiffers } = words.confirm
  if (opening === undefined) return { reason: words.confirm.comparing } as Partial<Typed>
  if (opening === 'unknown') return typed.unseen.trim() === unseenWord ? {} : { unseen: unseenDiffers }
  const { opened, loosened } = opening
  return {
    ...(opened > 0 && !confirmsNumber(typed.opened, opened) && { opened: openedDiffers(opened) }),
    ...(loosened > 0 && !confirmsNumber(typed.loosened, loosened) && { loosened: loosenedDiffers(loosened) }),
  }
}

interface ConfirmationsProps<T extends Typed> {
  readonly form: FormState<T>
  readonly opening: Opening | 'unknown' | undefined
}

function Confirmations<T extends Typed>({ form, opening }: ConfirmationsProps<T>) {
  const { type, unseen, unseenWord } = words.confirm
  if (opening === undefined) return null
  if (opening === 'unknown')
    return <TextField form={form} name="unseen" label={unseen} hint={type(unseenWord)} />
  return (
    <>
      {(['opened', 'loosened'] as const)
        .filter((name) => opening[name] > 0)
        .map((name) => (
          <TextField
            key={name}
            form={form}
            name={name}
            label={words.confirm[name]}
            hint={type(opening[name].toLocaleString('en'))}
            inputMode="numeric"
          />
        ))}
    </>
  )
}

/** Does it, unless another matrix is there than the one that the user looked at. */
function orReplaced<T>(replaced: () => void, work: (typed: T) => Promise<void>) {
  return async (typed: T): Promise<void> => {
    try {
      await work(typed)
    } catch (error) {
      if (!wasReplaced(apiErrorOf(error))) throw error
      replaced()
    }
  }
}
