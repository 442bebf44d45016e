// /alerts/rules: the rules that raise alerts.
import {
  EditRuleBody,
  ReplaceRuleBody,
  RuleBody,
  RuleListQuery,
  RulePage,
  RuleParams,
  RuleRequestBody,
  RuleTestBody,
  RuleTestResult,
} from '../alert-rule.ts'
import { API, DATABASE_WORK, JSON_TYPES, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/alerts/rules` as const
const WRITE = { tag: 'alerts', access: ['admin', 'operator'], scope: 'target' } as const
const ONE = { path: `${PATH}/{rule_id}`, params: RuleParams } as const
const EDIT = {
  ...WRITE,
  ...ONE,
  hasEtag: true,
  takesIfMatch: true,
  replies: { 200: RuleBody },
  refusals: ['NOT_FOUND', 'PRECONDITION_FAILED', 'RULE_OF_TYPE', 'UNKNOWN_PLACEHOLDER', 'IMMUTABLE_FIELD'],
} as const

export const listAlertRules = {
  tag: 'alerts',
  method: 'GET',
  path: PATH,
  operationId: 'listAlertRules',
  summary: 'List the alert rules, the newest first',
  access: ROLES,
  scope: 'list',
  query: RuleListQuery,
  replies: { 200: RulePage },
} as const satisfies Operation

export const createAlertRule = {
  ...WRITE,
  method: 'POST',
  path: PATH,
  operationId: 'createAlertRule',
  summary: 'Create an alert rule',
  description: 'It counts for every message that is acknowledged after the answer.',
  repeats: 'once',
  hasEtag: true,
  body: RuleRequestBody,
  replies: { 201: RuleBody },
  refusals: ['NOT_FOUND', 'LIMIT_REACHED', 'UNKNOWN_PLACEHOLDER'],
} as const satisfies Operation

export const getAlertRule = {
  tag: 'alerts',
  method: 'GET',
  ...ONE,
  operationId: 'getAlertRule',
  summary: 'Read an alert rule',
  access: ROLES,
  scope: 'target',
  hasEtag: true,
  replies: { 200: RuleBody, 304: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const replaceAlertRule = {
  ...EDIT,
  method: 'PUT',
  operationId: 'replaceAlertRule',
  summary: 'Replace an alert rule',
  description: 'A rule may be sent back as it was read, with the fields that cannot be changed.',
  body: ReplaceRuleBody,
} as const satisfies Operation

export const editAlertRule = {
  ...EDIT,
  method: 'PATCH',
  operationId: 'editAlertRule',
  summary: 'Change fields of an alert rule',
  body: EditRuleBody,
  bodyTypes: JSON_TYPES,
} as const satisfies Operation

export const deleteAlertRule = {
  ...WRITE,
  ...ONE,
  method: 'DELETE',
  operationId: 'deleteAlertRule',
  summary: 'Delete an alert rule: its open alerts are resolved',
  takesIfMatch: true,
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND', 'PRECONDITION_FAILED', 'RULE_OF_TYPE'],
} as const satisfies Operation

export const testAlertRule = {
  tag: 'alerts',
  method: 'POST',
  path: `${PATH}/test`,
  operationId: 'testAlertRule',
  summary: 'Try a rule on the past, without keeping it',
  description:
    'Stored points and the timeline go through the same judgement as live ones, by the time of the event. Nobody is told.',
  access: ['admin', 'operator'],
  scope: 'target',
  work: DATABASE_WORK,
  isAudited: false,
  body: RuleTestBody,
  replies: { 200: RuleTestResult },
  refusals: ['NOT_FOUND', 'NOT_TESTABLE', 'UNKNOWN_PLACEHOLDER'],
} as const satisfies Operation
