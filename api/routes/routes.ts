// The table of all REST routes. Each new area is added here.
import { OPERATIONS } from '../../schemas/operations/all.ts'
import type { Route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { asyncPage } from '../openapi/async-page.ts'
import { toAsyncApi } from '../openapi/asyncapi.ts'
import { docsPage } from '../openapi/docs-page.ts'
import { toOpenApi } from '../openapi/document.ts'
import { alertActRoutes } from './alert-acts.ts'
import { alertChannelRoutes } from './alert-channels.ts'
import { alertRuleTestRoutes } from './alert-rule-test.ts'
import { alertRuleRoutes } from './alert-rules.ts'
import { alertRoutes } from './alerts.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { auditRoutes } from './audit.ts'
import { authRoutes } from './auth.ts'
import { bulkRoutes } from './bulk.ts'
import { bulkEditRoute } from './bulk-edit.ts'
import { commandRoutes } from './commands.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { deploymentRoutes } from './deployments.ts'
import { deviceExportRoutes } from './device-export.ts'
import { deviceTypeRoutes } from './device-types.ts'
import { deviceRoutes } from './devices.ts'
import { firmwareRoutes } from './firmware.ts'
import { fleetRoutes } from './fleet.ts'
import { fleetFeedRoutes } from './fleet-feeds.ts'
import { floorPlanRoutes } from './floor-plan.ts'
import { historyRoutes } from './history.ts'
import { operationRoutes, type Phase } from './operations.ts'
import { problemRoutes } from './problems.ts'
import { provisioningRoutes } from './provisioning-keys.ts'
import { repairRoutes } from './repair.ts'
import { savedViewRoutes } from './saved-views.ts'
import { sessionRoutes } from './sessions.ts'
import { shadowRoutes } from './shadows.ts'
import { silenceRoutes } from './silences.ts'
import { systemRoute } from './system.ts'
import { telemetryRoutes } from './telemetry.ts'
import { userRoutes } from './users.ts'

export function toRoutes(
  services: Services,
  {
    version,
    phase,
    metricsToken,
  }: {
    readonly version: string
    readonly phase: () => Phase
    readonly metricsToken?: string | undefined
  },
): readonly Route[] {
  // Generated at the first request, to keep the start fast.
  const openApi = once(() => JSON.stringify(toOpenApi(Object.values(OPERATIONS), version)))
  const asyncApi = once(() => toAsyncApi(version))
  return [
    ...authRoutes(services),
    ...sessionRoutes(services),
    ...savedViewRoutes(services),
    ...userRoutes(services),
    ...apiKeyRoutes(services),
    ...provisioningRoutes(services),
    ...deviceRoutes(services),
    ...bulkRoutes(services),
    bulkEditRoute(services),
    ...deviceExportRoutes(services),
    ...deviceTypeRoutes(services),
    ...fleetRoutes(services),
    ...floorPlanRoutes(services),
    ...telemetryRoutes(services),
    ...historyRoutes(services),
    ...fleetFeedRoutes(services),
    ...shadowRoutes(services),
    ...firmwareRoutes(services),
    ...commandRoutes(services),
    ...deploymentRoutes(services),
    ...deadLetterRoutes(services),
    ...alertChannelRoutes(services),
    ...problemRoutes(),
    ...alertRoutes(services),
    ...alertActRoutes(services),
    ...alertRuleRoutes(services),
    ...alertRuleTestRoutes(services),
    ...silenceRoutes(services),
    ...auditRoutes(services),
    ...repairRoutes(services),
    systemRoute(services, version),
    ...operationRoutes(services, {
      ...{ phase, openApi, metricsToken },
      docs: once(() => docsPage(version)),
      asyncApi: once(() => JSON.stringify(asyncApi())),
      docsAsync: once(() => asyncPage(asyncApi())),
    }),
  ]
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
