/** The project of a token: chosen where the user may see the projects, and else typed. */
import { useCallback, useId } from 'preact/hooks'
import { texts as shared } from '../../texts/en/panel.ts'
import { texts } from '../../texts/en/profile.ts'
import { useApi } from '../context.tsx'
import { type FormState, TextField } from './form.tsx'
import { useLoaded } from './use-loaded.ts'
import { useUser } from './use-user.ts'

/** Most projects that a user can choose from. With more of them typing is quicker. */
const CHOICES_MAX = 200

export function ProjectField({ form }: { readonly form: FormState<{ readonly project: string }> }) {
  const { directory } = useApi()
  const { account, administrator } = useUser()
  const { value: names, error } = useLoaded(
    useCallback(
      async (signal) => {
        if (!administrator) return []
        const request = { account, pageSize: CHOICES_MAX }
        const { projects, nextPageToken } = await directory.listProjects(request, { signal })
        return nextPageToken === '' ? projects.map(({ name }) => name) : []
      },
      [directory, account, administrator],
    ),
  )
  const id = useId()
  if (names === undefined && error === undefined) return <p class="hint">{shared.loading}</p>
  if (names === undefined || names.length === 0)
    return (
      <TextField
        form={form}
        name="project"
        label={texts.tokens.project}
        hint={texts.tokens.projectHint}
        autofocus
      />
    )
  const fault = form.faults.project
  return (
    <div class="field">
      <label for={id}>{texts.tokens.project}</label>
      <select
        id={id}
        value={form.values.project}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-below`}
        onChange={({ currentTarget }) => form.set({ project: currentTarget.value })}
      >
        <option value="">{texts.tokens.choose}</option>
        {names.toSorted().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <div id={`${id}-below`} class="below">
        {fault && <p class="fault">{fault}</p>}
      </div>
    </div>
  )
}
