// hawkBit's device API (DDI), for clients such as SWUpdate: another way for devices to take part in deployments. It is not
// part of the REST API, whose operations are for people and services.
//
// Every request of a device is processed by its actor, where it counts as a sign of life, before it is answered.
import { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import {
  type DdiAct,
  ddiJob,
  isDdiEnded,
  offeredJob,
  unannouncedCancel,
} from '../../engine/domain/ota/ddi.ts'
import type { Firmware } from '../../engine/domain/ota/firmware-part.ts'
import { NO_FIRMWARE } from '../../engine/domain/ota/firmware-part.ts'
import {
  type ClientCertificate,
  type Revocations,
  readClientCertificate,
} from '../../engine/ports/client-certificate.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { refuseOrContinue, sendProblem } from '../http/problems.ts'
import type { Services } from '../http/services.ts'
import { checkOf } from '../http/validation.ts'
import type { Rates } from '../rates/rates.ts'
import { type Refusal, refused } from '../refusal.ts'
import { cancelBody, controllerBody, deploymentBody } from './bodies.ts'
import { ddiCaller } from './ddi-caller.ts'
import { ConfigBody, FeedbackBody, isStopped, toConfigure, toReport } from './feedback.ts'

/** There is a single tenant. Clients spell it differently. */
const TENANTS = ['DEFAULT', 'default'] as const
/** A status that says that the job has ended for good. */
const GONE = 410

type Params = { readonly device_id: string; readonly number?: string }
/** An answer without a body means success. */
type DdiAnswer = { readonly body?: object } | Refusal | { readonly gone: Refusal }

interface DdiRequest {
  readonly deviceId: DeviceId
  readonly number: number
  readonly body: unknown
  /** The URL of the device's own resource. */
  readonly base: string
}

interface DdiRoute {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: TSchema
  answer(ddiRequest: DdiRequest): Promise<DdiAnswer>
}

interface Tools {
  readonly services: Services
  readonly rates: Rates
  /** Undefined over plain HTTP. */
  readonly tls: Revocations | undefined
}

export function serveDdi(app: FastifyInstance, tools: Tools): void {
  const { services } = tools
  for (const tenant of TENANTS)
    for (const { method, path, body, answer } of ddiRoutes(services)) {
      const checkBody = body === undefined ? () => undefined : checkOf(body, 'body')
      app.route({
        method,
        url: `/${tenant}/controller/v1/:device_id${path}`,
        onRequest(request, reply, done) {
          refuseOrContinue({ request, reply }, () => admitDevice({ request, reply }, tools), done)
        },
        async handler(request, reply) {
          const { device_id: id, number = '1' } = request.params as Params
          if (!/^\d{1,10}$/.test(number)) return sendProblem(request, reply, actionNotFound())
          const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
          const refusal =
            body !== undefined && request.body === undefined
              ? refused('VALIDATION_FAILED', { message: 'a body is required' })
              : checkBody(request.body, bytes)
          if (refusal !== undefined) return sendProblem(request, reply, refusal)
          const base = `${services.publicUrl()}/${tenant}/controller/v1/${encodeURIComponent(id)}`
          // The device was authenticated under this id.
          const ddiRequest = { deviceId: id as DeviceId, number: Number(number), body: request.body, base }
          return send({ request, reply }, await answer(ddiRequest))
        },
      })
    }
}

function ddiRoutes(services: Services): readonly DdiRoute[] {
  const { engine, clock } = services
  const nothing = async () => actionNotFound()

  /** Resolves with the device's jobs afterwards, or with the reason for a refusal. */
  async function act(deviceId: DeviceId, ddiAct: DdiAct): Promise<{ readonly firmware: Firmware } | Refusal> {
    const by = { kind: 'device', id: deviceId } as const
    const outcome = await engine.submit(deviceId, { kind: 'ddi', act: ddiAct }, { by })
    if (outcome.kind === 'refused') return outcome
    return { firmware: (await engine.firmwareOf(deviceId))?.firmware ?? NO_FIRMWARE }
  }

  return [
    {
      method: 'GET',
      path: '',
      async answer({ deviceId, base }) {
        const acted = await act(deviceId, { kind: 'poll' })
        return 'firmware' in acted ? { body: controllerBody(acted.firmware, base, clock.now()) } : acted
      },
    },
    {
      method: 'GET',
      path: '/deploymentBase/:number',
      async answer({ deviceId, number }) {
        const acted = await act(deviceId, { kind: 'read', number })
        if (!('firmware' in acted)) return ended(acted)
        const job = offeredJob(acted.firmware)
        if (job === undefined || ddiJob(acted.firmware, number) !== job) return actionNotFound()
        await engine.firmware.ready()
        const record = engine.firmware.get(job.plan.goal.firmwareId)
        if (record === undefined || record.status === 'yanked')
          return { gone: refused(record === undefined ? 'DOWNLOAD_WITHDRAWN' : 'FIRMWARE_YANKED') }
        const { deploymentId } = job.plan
        const url = engine.firmware.linkOf(record, { deviceId, deploymentId })
        const hashes = await engine.firmware.hashesOf(record)
        return { body: deploymentBody({ job, record, hashes, url, now: clock.now() }) }
      },
    },
    {
      method: 'POST',
      path: '/deploymentBase/:number/feedback',
      body: FeedbackBody,
      async answer({ deviceId, number, body }) {
        // The schema above has validated the body, here and in the routes below.
        const acted = await act(deviceId, toReport(body as Parameters<typeof toReport>[0], number))
        return 'firmware' in acted ? {} : ended(acted)
      },
    },
    {
      method: 'GET',
      path: '/cancelAction/:number',
      async answer({ deviceId, number }) {
        const acted = await act(deviceId, { kind: 'poll' })
        if (!('firmware' in acted)) return acted
        const job = unannouncedCancel(acted.firmware)
        return job !== undefined && ddiJob(acted.firmware, number) === job
          ? { body: cancelBody(job) }
          : actionNotFound()
      },
    },
    {
      method: 'POST',
      path: '/cancelAction/:number/feedback',
      body: FeedbackBody,
      async answer({ deviceId, number, body }) {
        const hasStopped = isStopped(body as Parameters<typeof isStopped>[0])
        const acted = await act(deviceId, hasStopped ? { kind: 'stopped', number } : { kind: 'poll' })
        if (!('firmware' in acted)) return acted
        const job = ddiJob(acted.firmware, number)
        return job !== undefined && isDdiEnded(job) ? {} : actionNotFound()
      },
    },
    {
      method: 'PUT',
      path: '/configData',
      body: ConfigBody,
      async answer({ deviceId, body }) {
        const acted = await act(deviceId, toConfigure(body as Parameters<typeof toConfigure>[0]))
        return 'firmware' in acted ? {} : acted
      },
    },
    { method: 'GET', path: '/confirmationBase', answer: nothing },
    { method: 'GET', path: '/installedBase/:number', answer: nothing },
  ]
}

/** If the actor refuses because the job has ended, the answer is 410. */
function ended(refusal: Refusal): DdiAnswer {
  return refusal.code === 'INVALID_STATE_TRANSITION' ? { gone: refusal } : refusal
}

async function admitDevice(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { services, rates, tls }: Tools,
): Promise<Refusal | undefined> {
  const { device_id: id } = request.params as Params
  const { authorization } = request.headers
  const certificate = certificateOf(request, { services, tls })
  const writes = request.method !== 'GET'
  const caller = await ddiCaller(services, { id, authorization, certificate, writes })
  if (caller.kind === 'refused') return rates.address(request.ip, reply) ?? caller
  return rates.device({ userId: caller.deviceId, deviceId: caller.deviceId }, reply)
}

/** Undefined without TLS, and if the client presented none. */
function certificateOf(
  { raw: { socket } }: FastifyRequest,
  { services, tls }: Pick<Tools, 'services' | 'tls'>,
): ClientCertificate | undefined {
  return tls !== undefined && socket instanceof TLSSocket
    ? readClientCertificate(socket, { tls, now: services.clock.now() })
    : undefined
}

function send(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  answered: DdiAnswer,
): FastifyReply {
  if ('gone' in answered) return sendProblem(request, reply, answered.gone, GONE)
  if ('code' in answered) return sendProblem(request, reply, answered)
  const { body } = answered
  reply.header('cache-control', 'no-store')
  if (body === undefined) return reply.code(200).send()
  return reply.code(200).type('application/hal+json; charset=utf-8').send(JSON.stringify(body))
}

const actionNotFound = () => refused('NOT_FOUND', { message: 'the device has no such action' })
