// Every operation by its operationId. The file of an area exports operations and nothing else.
import type { Operation } from '../operation.ts'
import * as alertChannels from './alert-channels.ts'
import * as alertRules from './alert-rules.ts'
import * as alerts from './alerts.ts'
import * as apiKeys from './api-keys.ts'
import * as audit from './audit.ts'
import * as auth from './auth.ts'
import * as broadcasts from './broadcasts.ts'
import * as bulk from './bulk.ts'
import * as commands from './commands.ts'
import * as deadLetters from './dead-letters.ts'
import * as deployments from './deployments.ts'
import * as devices from './devices.ts'
import * as firmware from './firmware.ts'
import * as fleet from './fleet.ts'
import * as floorPlan from './floor-plan.ts'
import * as history from './history.ts'
import * as provisioning from './provisioning.ts'
import * as repair from './repair.ts'
import * as savedViews from './saved-views.ts'
import * as service from './service.ts'
import * as sessions from './sessions.ts'
import * as shadows from './shadows.ts'
import * as silences from './silences.ts'
import * as system from './system.ts'
import * as telemetry from './telemetry.ts'
import * as users from './users.ts'

export const OPERATIONS = {
  ...auth,
  ...sessions,
  ...users,
  ...savedViews,
  ...apiKeys,
  ...provisioning,
  ...devices,
  ...bulk,
  ...fleet,
  ...floorPlan,
  ...telemetry,
  ...history,
  ...shadows,
  ...firmware,
  ...broadcasts,
  ...commands,
  ...deadLetters,
  ...deployments,
  ...alertChannels,
  ...alerts,
  ...alertRules,
  ...silences,
  ...audit,
  ...repair,
  ...service,
  ...system,
} as const satisfies Readonly<Record<string, Operation>>
