/** What is asked before another matrix is put in force: why, and whether somebody saw what it opens. */
import { useId } from 'preact/hooks'
import { texts } from '../../../texts/en/operators.ts'
import { texts as shared } from '../../../texts/en/panel.ts'
import { summaryOf } from '../../../ui/comparison.tsx'
import { Command, Message } from '../../../ui/parts.tsx'
import { useApi } from '../../context.tsx'
import { momentOf } from '../../model/dates.ts'
import { apiErrorOf } from '../../model/errors.ts'
import type { Compared, Matrices } from '../../model/matrices.ts'
import {
  confirmsOpened,
  openedIn,
  promoteCommand,
  type Rollout,
  rollBackCommand,
  type ShadowView,
  shortOf,
  wasReplaced,
} from '../../model/rollout.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../../parts/form.tsx'
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
  const opened = openedIn(compared.comparison)
  const form = useForm({ reason: '', opened: '' }, (typed) => ({
    reason: needed(typed.reason, words.reason),
    opened:
      opened === 0 || confirmsOpened(typed.opened, opened) ? undefined : words.promote.openedDiffers(opened),
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
      <Form form={form} submit={submit} button={words.promote.button} danger={opened > 0} cancel={close}>
        <p>
          <strong>{summaryOf(compared.comparison)}</strong>{' '}
          {words.promote.compared(shadow.compared, shadow.differing)} {words.everywhere}
        </p>
        <TextField form={form} name="reason" label={words.reason} hint={words.reasonHint} autofocus />
        {opened > 0 && (
          <TextField
            form={form}
            name="opened"
            label={words.promote.opened}
            hint={words.promote.openedHint(opened)}
            inputMode="numeric"
          />
        )}
        <Command title={words.command} text={promoteCommand(form.values.reason, opened)} />
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
  const form = useForm({ to: earlier[0]?.digest ?? '', reason: '' }, (typed) => ({
    reason: needed(typed.reason, words.reason),
  }))
  const { to, reason } = form.values
  const submit = orReplaced(replaced, async (typed: { readonly to: string; readonly reason: string }) => {
    await directory.rollBackMatrix({
      ...{ digest, reason: typed.reason.trim() },
      to: typed.to === '' ? { case: 'toConfigured', value: true } : { case: 'toDigest', value: typed.to },
    })
    close()
    done(words.rollBack.done)
  })
  return (
    <Dialog title={words.rollBack.title} close={close} wide>
      <Form form={form} submit={submit} button={words.rollBack.button} danger cancel={close}>
        <ToField
          to={to}
          choose={(chosen) => form.set({ to: chosen })}
          earlier={earlier}
          configured={promoted}
        />
        <Change matrices={matrices} from={digest} to={to === '' ? rollout.configuredDigest : to} />
        <p>{words.everywhere}</p>
        <TextField form={form} name="reason" label={words.reason} hint={words.reasonHint} autofocus />
        <Command title={words.command} text={rollBackCommand(reason, to)} />
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
  readonly matrices: Matrices
  readonly from: string
  readonly to: string
}

/** What the way back opens and closes. */
function Change({ matrices, from, to }: ChangeProps) {
  const { value, error } = useCompared(matrices, from, to)
  if (error !== undefined)
    return (
      <p class="hint">
        <Message text={words.rollBack.unknown} />
      </p>
    )
  if (value === undefined) return <p class="waiting">{words.cells.comparing}</p>
  return (
    <p>
      <strong>{summaryOf(value.comparison)}</strong>
    </p>
  )
}

/** Does it, unless another matrix is there than the one that somebody looked at. */
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
