/** The fields of permissions and roles, in the form of a new user and in that of one who is changed. */
import { Fragment } from 'preact'
import { useCallback, useMemo, useRef } from 'preact/hooks'
import { linkTo } from '../../../model/routes.ts'
import { texts } from '../../../texts/en/iam.ts'
import { ApiPicker } from '../../../ui/api-picker.tsx'
import { Icon } from '../../../ui/icons.tsx'
import { useApi, useRoute } from '../../context.tsx'
import { type Draft, SCOPES } from '../../model/grants.ts'
import { NotLoaded } from '../../parts/loaded-view.tsx'
import { type Loaded, useLoaded } from '../../parts/use-loaded.ts'
import { Name } from './records.tsx'

const { permission, roles } = texts

const PAGE_SIZE_MAX = 1_000

interface PermissionFieldsProps {
  readonly account: string
  readonly draft: Draft
  readonly change: (draft: Draft) => void
  readonly fault: string | undefined
}

export function PermissionFields({ account, draft, change, fault }: PermissionFieldsProps) {
  return (
    <fieldset class="field options">
      <legend class="label">{permission.label}</legend>
      {SCOPES.map((scope) => (
        <Fragment key={scope}>
          <label class="option">
            <input
              type="radio"
              name="scope"
              value={scope}
              checked={draft.scope === scope}
              onChange={() => change({ ...draft, scope })}
            />
            <span>
              {permission.scopes[scope]}
              <span class="hint">{permission.hints[scope]}</span>
            </span>
          </label>
          {scope === 'projects' && draft.scope === 'projects' && (
            <ProjectFields {...{ account, draft, change, fault }} />
          )}
        </Fragment>
      ))}
    </fieldset>
  )
}

function ProjectFields({ account, draft, change, fault }: PermissionFieldsProps) {
  const { value: names, error, reload } = useProjectNames(account)
  const { given } = useRoute()
  const box = useRef<HTMLDivElement>(null)
  const offered = useMemo(
    () => ({ apis: new Map((names ?? []).map((name) => [name, { id: name, title: name }])) }),
    [names],
  )
  if (error !== undefined) return <NotLoaded error={error} retry={reload} />
  if (names?.length === 0)
    return (
      <p class="hint">
        {permission.noProjects}{' '}
        <a href={linkTo('projects', given.account === undefined ? {} : { account: given.account })}>
          {permission.createProject}
        </a>
      </p>
    )
  return (
    <div ref={box} class="project-fields">
      <ApiPicker
        engine={offered}
        label={permission.add}
        without={draft.projects}
        pick={(name) => change({ ...draft, projects: [...draft.projects, name] })}
      />
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {draft.projects.length > 0 && (
        <ul class="chips" aria-label={permission.projects}>
          {draft.projects.map((name) => (
            <li key={name}>
              <Name name={name} />
              <button
                type="button"
                class="quiet"
                aria-label={permission.remove(name)}
                onClick={() => {
                  change({ ...draft, projects: draft.projects.filter((each) => each !== name) })
                  // The button goes with its project.
                  box.current?.querySelector('input')?.focus()
                }}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The names of all projects of an account, read page by page to the last one. */
function useProjectNames(account: string): Loaded<readonly string[]> {
  const api = useApi()
  const load = useCallback(
    async (signal: AbortSignal) => {
      const names: string[] = []
      let pageToken = ''
      do {
        const page = await api.directory.listProjects(
          { account, pageSize: PAGE_SIZE_MAX, pageToken },
          { signal },
        )
        for (const { name } of page.projects) names.push(name)
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return names
    },
    [api, account],
  )
  return useLoaded<readonly string[]>(load)
}

interface CheckProps {
  readonly label: string
  readonly hint: string
  readonly checked: boolean
  readonly change: (checked: boolean) => void
  /** Why it cannot be changed. */
  readonly why?: string | undefined
}

/** A box, with what it means. */
export function Check({ label, hint, checked, change, why }: CheckProps) {
  return (
    <label class="option">
      <input
        type="checkbox"
        checked={checked}
        disabled={why !== undefined}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <span>
        {label}
        <span class="hint">{why ?? hint}</span>
      </span>
    </label>
  )
}

interface AdministratorProps {
  readonly checked: boolean
  readonly change: (checked: boolean) => void
}

/** The role of §5.1. */
export function AdministratorCheck({ checked, change }: AdministratorProps) {
  return (
    <fieldset class="field options">
      <legend class="label">{roles.label}</legend>
      <Check label={roles.administrator} hint={roles.administratorHint} checked={checked} change={change} />
    </fieldset>
  )
}

/** The sessions and tokens that saving ends, named beside the button. */
export function Ends({ text }: { readonly text: string }) {
  return (
    <p class="hint" role="status">
      {text}
    </p>
  )
}
