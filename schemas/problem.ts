// A refusal as RFC 9457 problem details with a stable code. REST, MQTT and /ws send the same object.
import { type Static, Type } from 'typebox'
import { choice, object, orNull } from './json-schema.ts'
import { CONDITION_CODES, problemPath, REFUSAL_CODES, REFUSALS, type RefusalCode } from './refusals.ts'

export const FieldError = object('FieldError', {
  path: Type.String({ description: 'JSON pointer to the field.' }),
  in: Type.Optional(choice(['body', 'query', 'path'])),
  code: Type.String({ examples: ['OUT_OF_RANGE'] }),
  message: Type.String({ examples: ['must be <= 200'] }),
})
export type FieldError = Static<typeof FieldError>

export const Problem = object(
  'Problem',
  'RFC 9457 problem details. `code` is stable and decides which further members there are.',
  {
    type: Type.String({ examples: ['/problems/not-found'] }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    code: choice(REFUSAL_CODES),
    detail: Type.String({ description: 'What is wrong in this case, or what to do about it.' }),
    instance: Type.String(),
    request_id: Type.String(),
    errors: Type.Optional(Type.Array(FieldError)),
  },
)
export type Problem = Static<typeof Problem> & Readonly<Record<string, unknown>>

export const ProblemKind = Type.Object(
  {
    type: Type.String({ examples: ['/problems/not-found'] }),
    code: choice([...REFUSAL_CODES, ...CONDITION_CODES]),
    status: orNull(Type.Integer({ minimum: 400, maximum: 599 }), {
      description: 'HTTP status. Null for what devices meet on MQTT.',
    }),
    title: Type.String(),
    advice: Type.String({ description: 'What to do about it.' }),
  },
  {
    title: 'ProblemKind',
    description: 'A kind of problem: what it means, and what to do about it.',
    examples: [{ type: problemPath('NOT_FOUND'), code: 'NOT_FOUND', ...REFUSALS.NOT_FOUND }],
  },
)
export type ProblemKind = Static<typeof ProblemKind>
export const ProblemKinds = object('ProblemKinds', { data: Type.Array(ProblemKind) })
export const ProblemParams = Type.Object({
  code: Type.String({ description: 'The code in kebab case, as in `type`.', examples: ['not-found'] }),
})

export interface RefusalAbout {
  readonly code: RefusalCode
  /** Members of the problem that depend on its code. `message` becomes the problem's `detail`. */
  readonly detail: Readonly<Record<string, unknown>>
}

export function toProblem(
  { code, detail }: RefusalAbout,
  { instance, requestId }: { readonly instance: string; readonly requestId: string },
): Problem {
  const { message, ...members } = detail
  const text = typeof message === 'string' ? message : (sentenceOf(code, detail) ?? REFUSALS[code].advice)
  return {
    ...members,
    type: problemPath(code),
    title: REFUSALS[code].title,
    status: REFUSALS[code].status,
    code,
    detail: text,
    instance,
    request_id: requestId,
  }
}

function sentenceOf(code: RefusalCode, detail: RefusalAbout['detail']): string | undefined {
  const { expected, got, limit, actual } = detail
  if (expected !== undefined && got !== undefined) {
    const what = code === 'DEVICE_SHADOW_CONFLICT' ? 'version ' : ''
    return `expected ${what}${String(expected)}, got ${String(got)}`
  }
  if (limit !== undefined && actual !== undefined) return `at most ${String(limit)}, got ${String(actual)}`
  return undefined
}
