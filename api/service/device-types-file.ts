// The device-type file, which is read once at start. An invalid file ends the start with one line that names the
// problems and their places.
import { readFileSync, statSync } from 'node:fs'
import { LineCounter, parseDocument, visit } from 'yaml'
import { rulesOfTypes } from '../../engine/domain/alert/type-rules.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { loadDeviceTypes, type ParseFile, problemText } from '../../engine/domain/device-type/load.ts'
import type { Problem } from '../../engine/domain/device-type/reader.ts'
import { LIMITS } from '../../engine/limits.ts'

export type ReadTypes =
  | { readonly kind: 'read'; readonly types: DeviceTypes }
  /** The error message, on one line. */
  | { readonly kind: 'wrong'; readonly line: string }

const PROBLEMS_SHOWN_MAX = 5
const SECOND_DOCUMENT = 'a second document begins here; the file may have only one'

export function readDeviceTypes(path: string | undefined): ReadTypes {
  if (path === undefined) return { kind: 'read', types: new Map() }
  const wrong = (what: string): ReadTypes => ({ kind: 'wrong', line: `FLEET_DEVICE_TYPES ${path}: ${what}` })
  let text: string
  try {
    // Checked first, so that a file that is too large or endless is never read.
    const about = statSync(path)
    if (!about.isFile()) return wrong('is not a regular file')
    if (about.size > LIMITS.deviceTypeBytesMax)
      return wrong(`has ${about.size} bytes; the maximum is ${LIMITS.deviceTypeBytesMax}`)
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    return wrong(reasonOf(error))
  }
  const loaded = loadDeviceTypes(text, parseYaml)
  if (loaded.kind === 'refused') return wrong(summaryOf(loaded.problems))
  const same = sameRuleProblems(loaded.types)
  return same.length > 0 ? wrong(summaryOf(same)) : { kind: 'read', types: loaded.types }
}

/** The id of a rule joins type and field, so `sensor` with `pro_temp` has the id of `sensor_pro` with `temp`. */
function sameRuleProblems(types: DeviceTypes): readonly Problem[] {
  const owners = new Map<string, string>()
  return [...types.values()].flatMap((type) =>
    rulesOfTypes([type]).flatMap(({ rule_id }) => {
      const owner = owners.get(rule_id)
      owners.set(rule_id, type.name)
      const message = `its alert rule ${rule_id} would have the id of one of ${owner}; rename the type or the field`
      return owner === undefined ? [] : { line: undefined, path: `device_types.${type.name}`, message }
    }),
  )
}

function summaryOf(problems: readonly Problem[]): string {
  const more = problems.length - PROBLEMS_SHOWN_MAX
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX).map(problemText)
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ').replaceAll(/\s+/g, ' ')
}

function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'file not found'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not valid UTF-8'
  return `cannot be read (${String(code ?? error)})`
}

/** Parses YAML or JSON and keeps line numbers. Aliases are refused, because they could expand without bound. */
const parseYaml: ParseFile = (text) => {
  try {
    return parse(text)
  } catch (error) {
    // The parser is recursive, so deep nesting exhausts the stack.
    if (!(error instanceof RangeError)) throw error
    return { kind: 'refused', problems: [{ line: undefined, path: '', message: 'is nested too deeply' }] }
  }
}

function parse(text: string): ReturnType<ParseFile> {
  const lines = new LineCounter()
  const lineAt = (offset: number | undefined) => lines.linePos(offset ?? 0).line
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    merge: false,
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  const problems: Problem[] = document.errors.map(({ pos, code, message }) => ({
    line: lineAt(pos[0]),
    path: '',
    message: code === 'MULTIPLE_DOCS' ? SECOND_DOCUMENT : message,
  }))
  if (document.contents === null && problems.length === 0)
    problems.push({
      line: undefined,
      path: '',
      message: 'is empty; a file of device types begins with device_types:',
    })
  visit(document, {
    Alias: (_key, { range, source }) => {
      problems.push({ line: lineAt(range?.[0]), path: '', message: `aliases are not allowed (*${source})` })
      return visit.BREAK
    },
  })
  if (problems.length > 0)
    return { kind: 'refused', problems: problems.slice(0, LIMITS.deviceTypeProblemsMax) }
  return {
    kind: 'parsed',
    value: document.toJS({ maxAliasCount: 0 }),
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        // Nodes that come from text have a range.
        const node = document.getIn(path.slice(0, length), true) as { range?: [number] } | undefined
        if (node?.range !== undefined) return lineAt(node.range[0])
      }
      return document.contents === null ? undefined : lineAt(document.contents.range[0])
    },
  }
}
