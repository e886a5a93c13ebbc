/** The projects of an account. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/iam.ts'
import { useApi } from '../context.tsx'
import { made } from '../model/errors.ts'
import type { Project } from '../model/iam-records.ts'
import type { Why } from '../model/may.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Form, needed, TextField, useForm } from '../parts/form.tsx'
import type { Column } from '../parts/paged-table.tsx'
import {
  CREATED,
  type CreateProps,
  DeleteDialog,
  EnableDialog,
  type Kind,
  NAME,
  RecordPage,
  STATE,
  useRecords,
} from './iam/record-page.tsx'
import { Act } from './iam/records.tsx'

const { projects: words, shared } = texts

const PROJECTS: Kind<Project> = {
  words,
  list: async (directory, page, options) => {
    const { projects: rows, nextPageToken } = await directory.listProjects(page, options)
    return { rows, nextPageToken }
  },
  enable: async (directory, changed) => (await directory.updateProject(changed)).project,
  delete: (directory, named) => directory.deleteProject(named),
}

interface Doing {
  readonly what: 'disable' | 'delete'
  readonly project: Project
}

export function ProjectsPage() {
  const records = useRecords(PROJECTS)
  const [doing, setDoing] = useState<Doing | undefined>(undefined)
  const about = doing && { records, record: doing.project, close: () => setDoing(undefined) }
  return (
    <RecordPage
      records={records}
      columns={columnsFor(records.why, setDoing)}
      form={(props) => <CreateProject {...props} />}
    >
      {about && (doing.what === 'delete' ? <DeleteDialog {...about} /> : <EnableDialog {...about} />)}
    </RecordPage>
  )
}

function columnsFor(why: Why | undefined, act: (doing: Doing) => void): readonly Column<Project>[] {
  return [
    NAME,
    { ...STATE, hiddenOn: 'phone' },
    { title: shared.id, cell: ({ id }) => <code>{id}</code>, width: '280px', hiddenOn: 'tablet' },
    { ...CREATED, hiddenOn: 'phone' },
    {
      title: shared.actions,
      actions: true,
      width: '190px',
      cell: (project) => <RowActions project={project} why={why} act={act} />,
    },
  ]
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

function CreateProject({ account, close, created, unknown }: CreateProps<Project>) {
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
