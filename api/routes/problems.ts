// /problems: the catalogue of refusals, for programs and for people.
import { getProblem, listProblems } from '../../schemas/operations/service.ts'
import type { ProblemKind } from '../../schemas/problem.ts'
import {
  CONDITION_CODES,
  CONDITIONS,
  type ConditionCode,
  problemPath,
  REFUSAL_CODES,
  REFUSALS,
  type RefusalCode,
} from '../../schemas/refusals.ts'
import { type Answer, answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import { escaped, page, pageHeaders, wantsPage } from '../openapi/html-page.ts'
import { refused } from '../refusal.ts'

const CATALOGUE: readonly ProblemKind[] = [
  ...REFUSAL_CODES.map(refusalKind),
  ...CONDITION_CODES.map(conditionKind),
]
const VARY = { vary: 'accept' }

export function problemRoutes(): readonly Route[] {
  return [
    route(listProblems, ({ header }) => {
      const items = CATALOGUE.map(
        ({ type, code, title }) => `<li><a href="${type}"><code>${code}</code></a> ${escaped(title)}</li>`,
      )
      return either(header('accept'), { data: CATALOGUE }, () =>
        page('Problems', `<ul>${items.join('')}</ul>`),
      )
    }),
    route(getProblem, ({ params, header }) => {
      const kind = CATALOGUE.find(({ type }) => type === `/problems/${params.code}`)
      if (kind === undefined)
        return refused('NOT_FOUND', { message: 'no such problem; /problems lists them' })
      return either(header('accept'), kind, () => kindPage(kind))
    }),
  ]
}

function either(accept: string | undefined, body: object, toPage: () => string): Answer {
  return wantsPage(accept) ? answer(200, toPage(), { ...pageHeaders(), ...VARY }) : answer(200, body, VARY)
}

function refusalKind(code: RefusalCode): ProblemKind {
  return { type: problemPath(code), code, ...REFUSALS[code] }
}

function conditionKind(code: ConditionCode): ProblemKind {
  return { type: problemPath(code), code, status: null, ...CONDITIONS[code] }
}

function kindPage({ code, status, title, advice }: ProblemKind): string {
  // The advice puts names in backticks.
  const text = escaped(advice).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
  return page(
    title,
    `<dl><dt>Code</dt><dd><code>${code}</code></dd><dt>Status</dt><dd>${status ?? 'none: devices meet it on MQTT'}</dd><dt>What to do</dt><dd>${text}</dd></dl><p><a href="/problems">All problems</a> · <a href="/docs">API</a></p>`,
  )
}
