/**
 * Access limits (§1): the addresses from which tokens of the account work, with a preview of the users who
 * would be shut out.
 */
import { useCallback, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { type Leave, stay } from '../../ui/stay.ts'
import { useAccount, useApi, useToast, useWho } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import { type Why, whyNotAsOwner } from '../model/may.ts'
import { type RangeFault, rangeFaultsOf, rangesOf, sameRanges } from '../model/ranges.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { Form, useForm } from '../parts/form.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Page } from '../parts/page.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { LimitsPreview, type Previewed, usePreview } from './iam/limits-preview.tsx'
import { Act, Reasons } from './iam/records.tsx'

const { limits: words } = texts

export function AccessLimitsPage() {
  const api = useApi()
  const account = useAccount() ?? ''
  const why = whyNotAsOwner(useWho(), account)
  const load = useCallback(
    async (signal: AbortSignal): Promise<readonly string[]> =>
      (await api.directory.getAddressRestriction({ account }, { signal })).ranges,
    [api, account],
  )
  const loaded = useLoaded(load)
  return (
    <Page title={words.title} about={words.about}>
      <Reasons whys={[why]} />
      <LoadedView loaded={loaded}>
        {(ranges) => <Limits account={account} inForce={ranges} why={why} saved={loaded.set} />}
      </LoadedView>
    </Page>
  )
}

interface LimitsProps {
  readonly account: string
  /** The ranges in force. */
  readonly inForce: readonly string[]
  readonly why: Why | undefined
  readonly saved: (ranges: readonly string[]) => void
}

type Asking = 'exclude' | 'remove' | undefined

function Limits({ account, inForce, why, saved }: LimitsProps) {
  const api = useApi()
  const say = useToast()
  const [asking, setAsking] = useState<Asking>(undefined)
  const form = useForm({ ranges: inForce.join('\n') })
  const typed = rangesOf(form.values.ranges)
  const preview = usePreview(account, form.values.ranges)
  const found = preview.error === undefined ? [] : rangeFaultsOf(preview.error, typed)
  const refused = form.faults.ranges
  const faults =
    found.length > 0 || refused === undefined ? found : [{ line: undefined, range: '', expected: refused }]
  const changed = !sameRanges(typed.ranges, inForce)
  const leaving = useLeaving(changed)
  const save = async (ranges: readonly string[], allowExcludingRequester: boolean) => {
    const answer = await api.directory.setAddressRestriction({
      ...{ account, ranges: [...ranges], allowExcludingRequester },
    })
    form.set({ ranges: answer.ranges.join('\n') })
    saved(answer.ranges)
    say({ text: answer.ranges.length === 0 ? words.removed : words.saved })
  }
  const submit = async () => {
    // A user who deletes every line means to remove the restriction, and that shuts out no user.
    if (preview.value?.requester?.allowed === false && typed.ranges.length > 0) return setAsking('exclude')
    try {
      await save(typed.ranges, false)
    } catch (error) {
      if (apiErrorOf(error).reason !== 'REQUESTER_EXCLUDED') throw error
      setAsking('exclude')
    }
  }
  return (
    <>
      <p>
        {inForce.length === 0 ? words.none : words.inForce(inForce.length)}{' '}
        {changed && (
          <span class="badge" data-kind="warn">
            {words.unsaved}
          </span>
        )}
      </p>
      <Form
        form={form}
        submit={submit}
        button={words.save}
        disabled={why !== undefined || !changed}
        beside={
          inForce.length > 0 && <Act text={words.remove} why={why} act={() => setAsking('remove')} danger />
        }
      >
        <RangesField
          text={form.values.ranges}
          change={(ranges) => form.set({ ranges })}
          faults={faults}
          readOnly={why !== undefined}
        />
      </Form>
      <LimitsPreview preview={preview} any={typed.ranges.length > 0} />
      {leaving.asked && (
        // The page that comes has its own place for the focus.
        <AskFirst {...words.leave} close={leaving.stay} stays act={async () => leaving.leave()} />
      )}
      <Asked
        {...{ asking, preview }}
        close={() => setAsking(undefined)}
        save={() => save(asking === 'remove' ? [] : typed.ranges, asking === 'exclude')}
      />
    </>
  )
}

interface Leaving {
  /** Whether the user wants to leave. */
  readonly asked: boolean
  readonly stay: () => void
  readonly leave: () => void
}

/** Asks before what was typed is lost. @param unsaved whether there is something to lose */
function useLeaving(unsaved: boolean): Leaving {
  const [wanted, setWanted] = useState<{ readonly leave: Leave } | undefined>(undefined)
  const end = useRef(() => {})
  useLayoutEffect(() => {
    if (!unsaved) return
    end.current = stay((leave) => setWanted({ leave }))
    return () => end.current()
  }, [unsaved])
  return {
    asked: wanted !== undefined,
    stay: () => setWanted(undefined),
    leave: () => {
      setWanted(undefined)
      end.current()
      // The dialog keeps the page, too, until it is gone.
      setTimeout(() => wanted?.leave())
    },
  }
}

interface RangesFieldProps {
  readonly text: string
  readonly change: (text: string) => void
  readonly faults: readonly RangeFault[]
  readonly readOnly: boolean
}

/** One range a line, and under it what is wrong with which line. */
function RangesField({ text, change, faults, readOnly }: RangesFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{words.ranges}</label>
      <textarea
        id={id}
        name="ranges"
        rows={8}
        value={text}
        readOnly={readOnly}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={faults.length > 0}
        aria-describedby={`${id}-below`}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <div id={`${id}-below`} class="below" aria-live="polite">
        {faults.length === 0 ? (
          <p class="hint">{words.hint}</p>
        ) : (
          <ul class="plain">
            {faults.map(({ line, range, expected }) => (
              <li key={`${line} ${range}`} class="fault">
                {line === undefined ? words.faultOfAll(expected) : words.fault(line, range, expected)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}

interface AskedProps {
  readonly asking: Asking
  readonly preview: Previewed
  readonly close: () => void
  readonly save: () => Promise<void>
}

/** The actions that need a second word: to shut oneself out, and to remove what others set. */
function Asked({ asking, preview, close, save }: AskedProps) {
  if (asking === 'remove')
    return (
      <AskFirst
        title={words.removeTitle}
        about={words.removeAbout}
        button={words.remove}
        close={close}
        act={save}
      />
    )
  if (asking === undefined) return null
  const address = preview.value?.requester?.address ?? ''
  return (
    <AskFirst
      title={words.selfTitle}
      about={words.selfThen}
      button={words.selfButton}
      close={close}
      act={save}
    >
      <p class="notice">
        <strong>{address === '' ? words.selfAboutUnknown : words.selfAbout(address)}</strong>
      </p>
    </AskFirst>
  )
}
