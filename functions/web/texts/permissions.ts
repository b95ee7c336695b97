import type { Permission } from '#shared/role/permissions.ts'
import { byLanguage } from '#web/texts/by-language.ts'

/** What a member with the permission may do. */
export const permissions = byLanguage<Permission, string>({
  'catalog.read': { en: 'see the catalog', es: 'ver el catálogo' },
  'company.read': { en: 'see the settings', es: 'ver los ajustes' },
  'company.write': { en: 'change the settings', es: 'cambiar los ajustes' },
  'customer.read': { en: 'see customers', es: 'ver clientes' },
  'customer.write': { en: 'change customers', es: 'cambiar clientes' },
  'deal.price.read': { en: 'see prices of deals', es: 'ver precios de pedidos' },
  'deal.price.write': { en: 'change prices of deals', es: 'cambiar precios de pedidos' },
  'deal.read': { en: 'see deals', es: 'ver pedidos' },
  'deal.write': { en: 'change deals', es: 'cambiar pedidos' },
  'design.approve': { en: 'approve designs', es: 'aprobar diseños' },
  'design.read': { en: 'see designs', es: 'ver diseños' },
  'design.write': { en: 'change designs', es: 'cambiar diseños' },
  'member.manage': { en: 'manage members', es: 'gestionar miembros' },
  'vendor.manage': { en: 'manage vendor accounts', es: 'gestionar cuentas de proveedores' },
})
