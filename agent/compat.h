/* SPDX-License-Identifier: Apache-2.0 */
/* glibc 2.34 moved these into libc.so.6 under a new version; the old one is there too and loads into every glibc from 2.17 on. */
#ifndef XP_AGENT_COMPAT_H
#define XP_AGENT_COMPAT_H

__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstacksize,pthread_attr_setstacksize@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");

#endif
