/** The projects of an account. */
import type { ComponentChildren } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { focusTitle } from '../../ui/focus.ts'
import { useAccount, useApi, useToast, useWho } from '../context.tsx'
import { made } from '../model/errors.ts'
import type { Project } from '../model/iam-records.ts'
import { type Why, whyNoChange } from '../model/may.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { ConfirmName } from '../parts/confirm-name.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Moment, msOf } from '../parts/time.tsx'
import { type Pages, usePages } from '../parts/use-pages.ts'
import { Act, Name, Reasons, State } from './iam/records.tsx'
import { useNameFilter } from './iam/selected.ts'

const { projects: words, shared } = texts

interface Doing {
  readonly what: 'disable' | 'delete'
  readonly project: Project
}

export function ProjectsPage() {
  const account = useAccount() ?? ''
  const say = useToast()
  const why = whyNoChange(useWho(), account)
  const [search, setSearch] = useState('')
  const [creating, setCreating] = useState(false)
  const [doing, setDoing] = useState<Doing | undefined>(undefined)
  const pages = useProjects(account)
  const create = <Act text={words.create} why={why} act={() => setCreating(true)} primary />
  return (
    <Page title={words.title} about={words.about} actions={create} filled>
      <Reasons whys={[why]} />
      <SearchBox value={search} change={setSearch} label={shared.search} />
      <Projects pages={pages} search={search} why={why} act={setDoing} create={create} />
      {creating && (
        <CreateProject
          account={account}
          close={() => setCreating(false)}
          unknown={pages.reload}
          created={(project) => {
            pages.add(project)
            setCreating(false)
            say({ text: shared.createdNow(project.name) })
          }}
        />
      )}
      {doing && <Doings doing={doing} pages={pages} close={() => setDoing(undefined)} />}
    </Page>
  )
}

function useProjects(account: string): Pages<Project> {
  const api = useApi()
  const fetchPage = useCallback(
    async (pageToken: string, pageSize: number, signal: AbortSignal) => {
      const page = await api.directory.listProjects({ account, pageSize, pageToken }, { signal })
      return { rows: page.projects, nextPageToken: page.nextPageToken }
    },
    [api, account],
  )
  return usePages<Project>(fetchPage, ({ id }) => id)
}

interface ProjectsProps {
  readonly pages: Pages<Project>
  readonly search: string
  readonly why: Why | undefined
  readonly act: (doing: Doing) => void
  readonly create: ComponentChildren
}

function Projects({ pages, search, why, act, create }: ProjectsProps) {
  const filter = useNameFilter(search)
  return (
    <PagedTable
      label={words.list}
      pages={pages}
      filter={filter}
      empty={
        <>
          <p>
            <strong>{words.empty}</strong>
          </p>
          <p>{words.emptyHint}</p>
          {create}
        </>
      }
      columns={[
        { title: shared.name, cell: ({ name }) => <Name name={name} /> },
        {
          title: shared.state,
          cell: ({ enabled }) => <State enabled={enabled} />,
          width: '110px',
          hiddenOn: 'phone',
        },
        { title: shared.id, cell: ({ id }) => <code>{id}</code>, width: '280px', hiddenOn: 'tablet' },
        {
          title: shared.created,
          cell: ({ createdAt }) => <Moment ms={msOf(createdAt)} />,
          width: '190px',
          hiddenOn: 'phone',
        },
        {
          title: shared.actions,
          actions: true,
          width: '190px',
          cell: (project) => <RowActions project={project} why={why} act={act} />,
        },
      ]}
    />
  )
}

interface RowActionsProps {
  readonly project: Project
  readonly why: Why | undefined
  readonly act: (doing: Doing) => void
}

function RowActions({ project, why, act }: RowActionsProps) {
  const { name, enabled } = project
  return (
    <>
      <Act
        text={enabled ? shared.disable : shared.enable}
        label={enabled ? words.disableOf(name) : words.enableOf(name)}
        why={why}
        act={() => act({ what: 'disable', project })}
        quiet
      />
      <Act
        text={shared.delete}
        label={words.deleteButton(name)}
        why={why}
        act={() => act({ what: 'delete', project })}
        quiet
        danger
      />
    </>
  )
}

interface DoingsProps {
  readonly doing: Doing
  readonly pages: Pages<Project>
  readonly close: () => void
}

function Doings({ doing: { what, project }, pages, close }: DoingsProps) {
  const api = useApi()
  const say = useToast()
  const { account, name, id, enabled } = project
  if (what === 'delete')
    return (
      <ConfirmName
        title={words.deleteTitle}
        about={words.deleteAbout}
        name={name}
        button={words.deleteButton(name)}
        close={close}
        act={async () => {
          await api.directory.deleteProject({ account, name })
          pages.change(
            (row) => row.id === id,
            () => undefined,
          )
          say({ text: shared.deletedNow(name) })
          focusTitle()
        }}
      />
    )
  return (
    <AskFirst
      title={enabled ? words.disableTitle : words.enableTitle}
      about={enabled ? words.disableAbout(name) : words.enableAbout(name)}
      button={enabled ? shared.disable : shared.enable}
      danger={enabled}
      close={close}
      act={async () => {
        const { project: changed } = await api.directory.updateProject({ account, name, enabled: !enabled })
        pages.change(
          (row) => row.id === id,
          (row) => changed ?? row,
        )
        say({ text: enabled ? shared.disabledNow(name) : shared.enabledNow(name) })
      }}
    />
  )
}

interface CreateProps {
  readonly account: string
  readonly close: () => void
  readonly created: (project: Project) => void
  /** It is unknown whether there is one now. */
  readonly unknown: () => void
}

function CreateProject({ account, close, created, unknown }: CreateProps) {
  const api = useApi()
  const form = useForm({ name: '' }, ({ name }) => ({ name: needed(name, shared.name) }))
  const submit = async ({ name }: typeof form.values) => {
    const { project } = await made(api.directory.createProject({ account, name }), unknown)
    if (project !== undefined) created(project)
  }
  return (
    <Dialog title={words.createTitle} close={close}>
      <Form form={form} submit={submit} button={shared.create} cancel={close}>
        <TextField form={form} name="name" label={shared.name} hint={shared.nameHint} autofocus />
      </Form>
    </Dialog>
  )
}
