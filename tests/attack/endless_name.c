// SPDX-License-Identifier: MIT
/*
 * Runs in a function whose mangled name refers back to its parts so often that a demangler searches
 * them for years: a pack of functions of two functions of two functions...
 */
void spin(void) __asm__(
	"_Z1fDpFFiiEFS_S_EFS0_S0_EFS1_S1_EFS2_S2_EFS3_S3_EFS4_S4_EFS5_S5_EFS6_S6_EFS7_"
	"S7_EFS8_S8_EFS9_S9_EFSA_SA_EFSB_SB_EFSC_SC_EFSD_SD_EFSE_SE_EFSF_SF_EFSG_SG_"
	"EFSH_SH_EFSI_SI_EFSJ_SJ_EFSK_SK_EFSL_SL_EFSM_SM_EFSN_SN_EFSO_SO_EFSP_SP_EFSQ_"
	"SQ_EFSR_SR_EFSS_SS_EFST_ST_EFSU_SU_EFSV_SV_EFSW_SW_EE");

__attribute__((noinline)) void spin(void)
{
	for (volatile int i = 1; i; i = 1)
		;
}

int main(void)
{
	spin();
	return 0;
}
