/** Loaded into a process: the defect that its query names is in the code from then on. */
import { DEFECTS, placesOf } from './defects.ts'
import { replaceIn } from './replacing.ts'

const name = decodeURIComponent(new URL(import.meta.url).search.slice(1))
const defect = DEFECTS.find((each) => each.name === name)
if (defect === undefined) throw new Error(`there is no defect "${name}"`)
for (const { file, code, instead } of placesOf(defect)) replaceIn(`/${file}`, code, instead)
