// The wire format of a firmware record.
import type { FirmwareLibrary, FirmwareRecord } from '../../engine/ports/ota.ts'
import type { FirmwareBody } from '../../schemas/firmware.ts'
import { toIso } from '../../schemas/ids.ts'

/** Also checks whether the image exists. */
export async function firmwareBody(
  firmware: Pick<FirmwareLibrary, 'hasImage' | 'deploymentsOf'>,
  record: FirmwareRecord,
): Promise<FirmwareBody> {
  const { active, total } = firmware.deploymentsOf(record.id)
  return {
    firmware_id: record.id,
    version: record.version,
    device_type: record.deviceType,
    changelog: record.changelog,
    filename: record.filename,
    size_bytes: record.sizeBytes,
    content_type: record.contentType,
    sha256: record.sha256,
    signature: record.signature?.value ?? null,
    signature_alg: record.signature?.alg ?? null,
    signature_verified: record.signatureVerified ?? null,
    min_from_version: record.minFromVersion ?? null,
    from_versions: [...record.fromVersions],
    reports_as: record.reportsAs,
    status: record.status,
    storage: (await firmware.hasImage(record)) ? 'stored' : 'missing',
    deployments: { active: active.length, total },
    uploaded_by: record.uploadedBy,
    created_at: toIso(record.createdAt),
    updated_at: toIso(record.updatedAt),
    etag: String(record.revision),
  }
}
